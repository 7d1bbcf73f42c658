"""Providers as the console shows them: namespaces in, settings without secrets, pauses, budgets and late errors out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("console_providers")
_MOST = 200


@dataclass(frozen=True, slots=True)
class ProviderLine:
    """A provider. `namespace` is '' for a cluster provider; `campaigns`: ids of those that go on, a hundred at most.

    `spec`: as on the wire; credentials are in Secrets and never in it.
    """

    id: int
    namespace: str
    kind: str
    name: str
    spec: Mapping[str, Any]
    suspended: bool
    paused_until: datetime | None
    pause_code: str | None
    pause_message: str | None
    pauses_in_row: int
    updated_at: datetime
    now: datetime
    campaigns: Sequence[int]

    @property
    def paused(self) -> bool:
        """Whether it stands still now."""
        return self.paused_until is not None and self.paused_until > self.now


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of a provider; `used` of `burst` messages are taken at present."""

    provider_id: int
    messages: int
    period_seconds: int
    burst: int
    used: int


@dataclass(frozen=True, slots=True)
class LateError:
    """Answers alike, with the latest time and one of the far end's own words."""

    outcome: str
    code: str | None
    count: int
    latest_at: datetime
    message: str | None


async def providers(conn: Connection, namespaces: Sequence[str]) -> list[ProviderLine]:
    """All of them, two hundred at most."""
    cursor = await conn.execute(SQL["providers"], {"namespaces": list(namespaces), "limit": _MOST})
    return [ProviderLine(**row) for row in await cursor.fetchall()]


async def limits(conn: Connection, ids: Sequence[int]) -> list[Limit]:
    """The limits of these providers and how much of each is used."""
    cursor = await conn.execute(SQL["limits"], {"ids": list(ids)})
    return [Limit(**row) for row in await cursor.fetchall()]


async def late_errors(conn: Connection, namespaces: Sequence[str], provider_id: int) -> list[LateError]:
    """What the far end answered of late, in the newest campaigns of the namespaces that use the provider."""
    asked = {"namespaces": list(namespaces), "provider": provider_id}
    cursor = await conn.execute(SQL["newest_campaigns"], asked)
    ids = [row["id"] for row in await cursor.fetchall()]
    cursor = await conn.execute(SQL["errors"], {"campaigns": ids, "provider": provider_id})
    return [LateError(**row) for row in await cursor.fetchall()]
