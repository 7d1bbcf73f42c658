"""The operator's side of the store: who acts for a send key, what is active, what to show. Objects in, rows out.

A campaign's row belongs to one object, by its uid, in the spec of one generation. Every write of the operator names
both, so that of two operators, or two objects, only the one that is up to date writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sendonce_store import campaigns
from sendonce_store.connection import Connection
from sendonce_store.queries import load
from sendonce_store.spec import CampaignSpec, NotificationCampaign, content_hash

SQL = load("operator")
CAMPAIGN_SQL = load("campaigns")
TOP_ERRORS = 5
_FROZEN = ("category", "topic", "recipients", "messages", "rollout")


@dataclass(frozen=True, slots=True)
class KnownKey:
    """The row of a send key. `owner_silent`: seconds since an operator looked after its owner.

    `owned_at`: since when another object than the one that made the row acts for it.
    """

    id: int
    namespace: str
    send_key: str
    name: str
    owner_uid: str | None
    generation: int
    content_hash: str
    spec: Mapping[str, Any]
    created_at: datetime
    owned_at: datetime | None
    started_at: datetime | None
    ended: str | None
    ended_reason: str | None
    ended_message: str | None
    completed_at: datetime | None
    cancelled_at: datetime | None
    data_deleted_at: datetime | None
    owner_silent: float | None
    untouched: bool


@dataclass(frozen=True, slots=True)
class Owner:
    """The object that acts: its uid and the generation of its spec; `previous`: whom it takes the campaign from."""

    uid: str
    generation: int
    previous: str | None


@dataclass(frozen=True, slots=True)
class TopError:
    """One kind of error with an example of the far end's words, addresses not yet masked."""

    code: str | None
    reason: str | None
    count: int
    message: str | None


@dataclass(frozen=True, slots=True)
class StoredAction:
    """An action as the store has it."""

    type: str
    matched: int
    changed: int
    message: str | None
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProviderState:
    """What workers found out about a provider. `namespace` is '' for a cluster provider.

    `pauses_in_row`: how often it was paused since something last got through.
    """

    namespace: str
    kind: str
    name: str
    suspended: bool
    paused_until: datetime | None
    pause_code: str | None
    pause_message: str | None
    pauses_in_row: int
    now: datetime


async def store_id(conn: Connection) -> str:
    """The identity of this store; a restored copy keeps it."""
    cursor = await conn.execute(CAMPAIGN_SQL["store_id"])
    row = await cursor.fetchone()
    return str(row["id"]) if row else ""


async def find(conn: Connection, namespace: str, send_key: str) -> KnownKey | None:
    """The row of a send key; None where there is none."""
    cursor = await conn.execute(SQL["campaign_of_key"], {"namespace": namespace, "send_key": send_key})
    row = await cursor.fetchone()
    return KnownKey(**row) if row else None


def frozen_content(known: KnownKey, wished: CampaignSpec) -> CampaignSpec:
    """What is wished, with the content that was frozen when the campaign was made."""
    frozen = CampaignSpec.from_wire(known.spec)
    return wished.model_copy(update={name: getattr(frozen, name) for name in _FROZEN})


async def own(
    conn: Connection, known: KnownKey, campaign: NotificationCampaign, spec: CampaignSpec, owner: Owner
) -> bool:
    """Act for the campaign from now on, with the fields of the spec that may change; False: somebody else is ahead."""
    columns = campaigns.columns_of(campaign, spec) | {
        "campaign": known.id,
        "owner_uid": owner.uid,
        "previous_uid": owner.previous,
        "generation": owner.generation,
    }
    cursor = await conn.execute(SQL["own"], columns)
    return await cursor.fetchone() is not None


async def refreeze(
    conn: Connection, known: KnownKey, campaign: NotificationCampaign, spec: CampaignSpec, owner: Owner
) -> bool:
    """Replace the content of a row that nothing has used yet; False: it has been used, or somebody else is ahead."""
    namespace, here = known.namespace, {"campaign": known.id}
    providers = [await campaigns.find_provider(conn, namespace, message) for message in spec.messages]
    async with conn.transaction():
        await conn.execute(SQL["lock"], here)
        now = await find(conn, namespace, known.send_key)
        if now is None or not now.untouched or not await own(conn, now, campaign, spec, owner):
            return False
        digest = content_hash(campaign.model_copy(update={"spec": spec}))
        columns = campaigns.columns_of(campaign, spec) | here | {"content_hash": digest}
        for name in ("refreeze", "drop_channels", "drop_import", "drop_stream"):
            await conn.execute(SQL[name], columns)
        await campaigns.insert_parts(conn, namespace, known.id, spec, providers)
    return True


async def release(conn: Connection, campaign_id: int, owner_uid: str) -> None:
    """The object is gone."""
    await conn.execute(SQL["release"], {"campaign": campaign_id, "owner_uid": owner_uid})


async def seen(conn: Connection, owners: Mapping[int, str]) -> None:
    """Note that the owners (campaign id → uid) are looked after."""
    await conn.execute(SQL["seen"], {"ids": list(owners), "owners": list(owners.values())})


async def active(conn: Connection) -> dict[int, str | None]:
    """The campaigns that have not ended, with their owners' uids."""
    cursor = await conn.execute(SQL["active"])
    return {row["id"]: row["owner_uid"] for row in await cursor.fetchall()}


async def top_errors(conn: Connection, campaign_id: int) -> list[TopError]:
    """What failed deliveries failed of, the most frequent first."""
    cursor = await conn.execute(SQL["top_errors"], {"campaign": campaign_id, "limit": TOP_ERRORS})
    return [TopError(**row) for row in await cursor.fetchall()]


async def provider_states(conn: Connection) -> list[ProviderState]:
    """All providers that the store knows."""
    cursor = await conn.execute(SQL["providers"])
    return [ProviderState(**row) for row in await cursor.fetchall()]


async def suspend_provider(conn: Connection, kind: str, namespace: str, name: str) -> None:
    """The provider's object is gone: campaigns that still use it wait."""
    await conn.execute(SQL["suspend_provider"], {"kind": kind, "namespace": namespace, "name": name})


async def namespaces(conn: Connection) -> Sequence[str]:
    """Namespaces with finished campaigns."""
    cursor = await conn.execute(SQL["namespaces"])
    return [row["namespace"] for row in await cursor.fetchall()]


async def find_action(conn: Connection, campaign_id: int, name: str) -> StoredAction | None:
    """An action by its name."""
    cursor = await conn.execute(SQL["action"], {"campaign": campaign_id, "name": name})
    row = await cursor.fetchone()
    return StoredAction(**row) if row else None
