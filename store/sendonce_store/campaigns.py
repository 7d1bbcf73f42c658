"""Campaigns and providers in the store: documents in, rows out; a known send key is adopted, never begun again.

A campaign's row, its channels and its import batch are made in one transaction. From then on its content is frozen:
the same send key with another content hash is a conflict, with the same one it goes on or has already been sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from psycopg.types.json import Jsonb

from sendonce_store.applied import APPLIED_BY
from sendonce_store.connection import Connection
from sendonce_store.decisions import Canary, Policy
from sendonce_store.queries import load
from sendonce_store.spec import (
    CampaignSpec,
    ClusterNotificationProvider,
    FailureAction,
    Message,
    NotificationCampaign,
    NotificationProvider,
    Priority,
    Promotion,
    ProviderKind,
    ProviderSpec,
    content_hash,
)

SQL = load("campaigns")
PRIORITIES = {Priority.LOW: 0, Priority.NORMAL: 1, Priority.HIGH: 2}
AFTER_STATES = {"Failed": "failed", "Suppressed": "suppressed", "Expired": "expired"}


class ProviderNotFoundError(Exception):
    """A message names a provider that the store does not have."""


class Adopted(Enum):
    """What became of a campaign document."""

    CREATED = "created"
    CONTINUED = "continued"
    ALREADY_SENT = "already sent"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Adoption:
    """The campaign's row and what it means for the document that asked for it."""

    campaign_id: int
    kind: Adopted
    message: str


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of a stored campaign with its provider, as a worker needs it."""

    channel: str
    provider_id: int
    provider_kind: str
    provider_name: str
    provider: ProviderSpec
    after_channel: str | None
    after_states: tuple[str, ...]
    capped: bool = False


@dataclass(frozen=True, slots=True)
class StoredCampaign:
    """A campaign as the store has it."""

    id: int
    namespace: str
    send_key: str
    name: str
    spec: CampaignSpec
    priority: int


async def sync_provider(conn: Connection, provider: NotificationProvider | ClusterNotificationProvider) -> int:
    """Write a provider's settings and limits; returns its id. A limit that stays the same keeps its place in time."""
    namespace = provider.metadata.namespace if isinstance(provider, NotificationProvider) else ""
    spec = provider.spec
    parameters = {
        "namespace": namespace,
        "kind": provider.kind,
        "name": provider.metadata.name,
        "spec": Jsonb(spec.to_wire()),
        "suspended": spec.suspend,
    }
    async with conn.transaction():
        cursor = await conn.execute(SQL["sync_provider"], parameters)
        row = await cursor.fetchone()
        provider_id = int(row["id"]) if row else 0
        limits = {
            "nos": list(range(len(spec.paces))),
            "messages": [limit.messages for limit in spec.paces],
            "periods": [limit.period_seconds for limit in spec.paces],
            "bursts": [limit.effective_burst for limit in spec.paces],
        }
        await conn.execute(SQL["sync_limits"], limits | {"provider": provider_id, "namespace": namespace})
    return provider_id


async def find_provider(conn: Connection, namespace: str, message: Message) -> int:
    """The id of the provider that a message names. Raises ProviderNotFoundError."""
    ref = message.provider_ref
    cluster = ref.kind is ProviderKind.CLUSTER_NOTIFICATION_PROVIDER
    cursor = await conn.execute(
        SQL["find_provider"],
        {"namespace": "" if cluster else namespace, "kind": ref.kind.value, "name": ref.name},
    )
    row = await cursor.fetchone()
    if row is None:
        where = "" if cluster else f" in namespace {namespace}"
        text = f"messages[{message.channel.value}].providerRef: there is no {ref.kind.value} {ref.name!r}{where}"
        raise ProviderNotFoundError(text)
    return int(row["id"])


async def adopt(
    conn: Connection, campaign: NotificationCampaign, spec: CampaignSpec, owner_uid: str | None = None
) -> Adoption:
    """Find or make the row of the campaign's send key.

    `campaign` is the document as written (its content hash is the identity of the content), `spec` the same with the
    templates of ConfigMaps read into it. Raises ProviderNotFoundError before anything is written.
    """
    namespace = campaign.metadata.namespace
    providers = [await find_provider(conn, namespace, message) for message in spec.messages]
    digest = content_hash(campaign.model_copy(update={"spec": spec}))
    columns = columns_of(campaign, spec) | {"owner_uid": owner_uid, "content_hash": digest}
    async with conn.transaction():
        cursor = await conn.execute(SQL["insert_campaign"], columns)
        created = await cursor.fetchone()
        if created is not None:
            await insert_parts(conn, namespace, created["id"], spec, providers)
            return Adoption(created["id"], Adopted.CREATED, "created")
    return await _adopt_known(conn, columns)


async def insert_parts(
    conn: Connection, namespace: str, campaign_id: int, spec: CampaignSpec, providers: Sequence[int]
) -> None:
    """Make a campaign's channels, and its import batch or its inbox."""
    for no, (message, provider) in enumerate(zip(spec.messages, providers, strict=True)):
        await conn.execute(SQL["insert_channel"], _channel_columns(namespace, campaign_id, no, message, provider))
    source = "insert_import_batch" if spec.recipients.stream is None else "insert_stream"
    await conn.execute(SQL[source], {"campaign": campaign_id, "namespace": namespace})


def _channel_columns(namespace: str, campaign_id: int, no: int, message: Message, provider: int) -> dict[str, Any]:
    outcomes = [outcome.value for outcome in message.after.outcomes] if message.after else []
    return {
        "campaign": campaign_id,
        "channel": message.channel.value,
        "namespace": namespace,
        "no": no,
        "provider": provider,
        "after_channel": message.after.channel.value if message.after else None,
        "after_states": [AFTER_STATES[outcome] for outcome in outcomes if outcome in AFTER_STATES],
        "after_no_address": "NoAddress" in outcomes,
    }


def columns_of(campaign: NotificationCampaign, spec: CampaignSpec) -> dict[str, Any]:
    """A campaign's columns: `spec` with the templates of ConfigMaps read into it."""
    schedule = spec.schedule
    return {
        "namespace": campaign.metadata.namespace,
        "send_key": campaign.send_key,
        "name": campaign.metadata.name,
        "spec": Jsonb(spec.to_wire()),
        "category": spec.category.value,
        "topic": spec.topic,
        "priority": PRIORITIES[spec.priority],
        "start_at": schedule.start_at if schedule else None,
        "deadline": schedule.deadline if schedule else None,
        "suspended": spec.suspend,
        "held": waits_for_import(spec),
        "stream": spec.recipients.stream is not None,
        "close": spec.close,
        "cap_messages": spec.frequency_cap.messages if spec.frequency_cap else None,
        "cap_days": spec.frequency_cap.period_days if spec.frequency_cap else None,
        "canary": bool(spec.rollout and spec.rollout.canary),
        "applied_by": campaign.metadata.annotations.get(APPLIED_BY),
    }


def waits_for_import(spec: CampaignSpec) -> bool:
    """Tell whether the first hand-off waits for the whole import: only then is it known that the list is right."""
    source = spec.recipients
    pinned = source.http is not None and source.http.sha256 is not None
    return pinned or source.expected is not None or source.max_rejected_percent < 100  # noqa: PLR2004 - per cent


async def _adopt_known(conn: Connection, columns: Mapping[str, Any]) -> Adoption:
    cursor = await conn.execute(SQL["campaign_by_key"], columns)
    row = await cursor.fetchone()
    if row is None:
        message = f"campaign {columns['send_key']} was made and removed at the same moment: try again"
        raise RuntimeError(message)
    if row["content_hash"] != columns["content_hash"]:
        return Adoption(row["id"], Adopted.CONFLICT, _conflict(columns))
    if row["ended"] is not None:
        return Adoption(row["id"], Adopted.ALREADY_SENT, already_sent(row))
    await conn.execute(SQL["update_mutable"], {**columns, "campaign": row["id"]})
    return Adoption(row["id"], Adopted.CONTINUED, "goes on")


def _conflict(columns: Mapping[str, Any]) -> str:
    return (
        f"SendKeyConflict: send key {columns['send_key']!r} in namespace {columns['namespace']!r} belongs to a campaign"
        " with other content; content is frozen once a campaign exists. To send this one, give it another sendKey"
    )


def already_sent(row: Mapping[str, Any]) -> str:
    """What a person is told who applies a finished campaign again."""
    when = row["completed_at"].isoformat(timespec="seconds")
    ended = "cancelled" if row["ended_reason"] == "Cancelled" else "finished"
    mended = row["ended_reason"] == "SourceUnreadable"
    fix = (
        "If its source can be read now, resume it (`sendonce run --resume`)"
        if mended
        else "To send anew, give it another sendKey"
    )
    what = f"send key {row['send_key']!r} {ended} at {when} ({row['ended_reason']}: {row['ended_message']})"
    return f"AlreadySent: {what}; nothing is sent. {fix}"


async def read(conn: Connection, namespace: str, send_key: str) -> StoredCampaign | None:
    """The stored campaign of a send key; None where there is none."""
    cursor = await conn.execute(SQL["campaign_by_key"], {"namespace": namespace, "send_key": send_key})
    row = await cursor.fetchone()
    if row is None:
        return None
    spec = CampaignSpec.from_wire(row["spec"])
    return StoredCampaign(row["id"], row["namespace"], row["send_key"], row["name"], spec, row["priority"])


async def read_channels(conn: Connection, campaign_id: int) -> list[Channel]:
    """The campaign's channels in order, with the settings of their providers as they are now."""
    cursor = await conn.execute(SQL["provider_specs"], {"campaign": campaign_id})
    return [
        Channel(
            channel=row["channel"],
            provider_id=row["provider_id"],
            provider_kind=row["kind"],
            provider_name=row["name"],
            provider=ProviderSpec.from_wire({k: v for k, v in row["spec"].items() if k != "allowedNamespaces"}),
            after_channel=row["after_channel"],
            after_states=tuple(row["after_states"]),
            capped=row["capped"],
        )
        for row in await cursor.fetchall()
    ]


async def halt(conn: Connection, campaign_id: int, reason: str, message: str) -> bool:
    """Stop the hand-off until a person resumes; False if it was stopped, or over, already."""
    parameters = {"campaign": campaign_id, "reason": reason, "message": message}
    cursor = await conn.execute(SQL["halt"], parameters)
    return await cursor.fetchone() is not None


def policy_of(spec: CampaignSpec) -> Policy:
    """The parts of a spec that `decisions` needs."""
    expected = spec.recipients.expected
    breaker = spec.failure_policy
    return Policy(
        expected_min=expected.min if expected else None,
        expected_max=expected.max if expected else None,
        max_rejected_percent=spec.recipients.max_rejected_percent,
        canary=_canary(spec),
        breaker_percent=breaker.max_failed_percent if breaker.action is FailureAction.SUSPEND else None,
        breaker_min=breaker.min_deliveries,
    )


def _canary(spec: CampaignSpec) -> Canary | None:
    canary = spec.rollout.canary if spec.rollout else None
    if canary is None:
        return None
    return Canary(
        percent=canary.percent,
        min_recipients=canary.min_recipients,
        observe_seconds=canary.observe_seconds,
        max_failed_percent=canary.max_failed_percent,
        automatic=canary.promotion is Promotion.AUTOMATIC,
    )
