"""Dead letters for the console: grouped by reason, what an order would change, and what was ordered.

Rows are read of the first `_WINDOW` batches that have any: a page takes no longer for a million of them. What is
counted is then a part, and says so; the totals beside it are the batches' own counters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sendonce_store.actions import Selection
from sendonce_store.connection import Connection
from sendonce_store.named_people import find_named
from sendonce_store.queries import load

__all__ = ["Ended", "Group", "Groups", "PlacedOrder", "Reach", "groups", "orders", "reach"]

SQL = load("console_deadletters")
_WINDOW = 40


@dataclass(frozen=True, slots=True)
class Ended:
    """Deliveries that ended otherwise than as sent, all of a campaign."""

    failed: int
    uncertain: int
    expired: int
    cancelled: int
    suppressed: int

    def of(self, states: Sequence[str] | None) -> int:
        """Those of some states; None: of all."""
        taken = ("failed", "uncertain", "expired", "cancelled", "suppressed") if states is None else states
        return sum(getattr(self, state, 0) for state in taken)


@dataclass(frozen=True, slots=True)
class Group:
    """Deliveries that ended alike. `message`: one of the far end's answers; `example`: one recipient's line."""

    state: str
    channel: str
    reason: str | None
    code: str | None
    count: int
    message: str | None
    example: int
    latest_at: datetime | None


@dataclass(frozen=True, slots=True)
class Groups:
    """The most frequent first. `counted` of `total` deliveries of the states asked for were read."""

    items: Sequence[Group]
    counted: int
    total: int
    ended: Ended

    @property
    def partial(self) -> bool:
        """Whether there are more than were read."""
        return self.counted < self.total


@dataclass(frozen=True, slots=True)
class Reach:
    """What an order would take: deliveries, of so many people; `maybe_accepted`: that may have arrived already.

    `at_least`: there are more dead letters than were read. `missing`: of the recipients named, not in the campaign.
    """

    rows: int
    people: int
    maybe_accepted: int
    at_least: bool = False
    missing: int = 0


@dataclass(frozen=True, slots=True)
class PlacedOrder:
    """An order as the ledger has it. `spec`: as `actions.Order.document`."""

    name: str
    type: str
    spec: Mapping[str, Any]
    matched: int
    changed: int
    message: str | None
    started_at: datetime
    finished_at: datetime | None

    @property
    def requested_by(self) -> str | None:
        """Who ordered it, where a front said so."""
        found = self.spec.get("requestedBy")
        return found if isinstance(found, str) else None


async def groups(conn: Connection, campaign: tuple[str, int], states: Sequence[str]) -> Groups:
    """Deliveries that ended as one of `states`, by state, channel, reason and code. `campaign`: namespace and id."""
    asked = _of(campaign) | {"states": list(states), "batches": _WINDOW}
    ended = await _ended(conn, asked)
    items = [Group(**row) for row in await _rows(conn, "groups", asked)]
    return Groups(items, sum(one.count for one in items), ended.of(states), ended)


async def reach(conn: Connection, campaign: tuple[str, int], selection: Selection) -> Reach:
    """What an order with this selection would take now."""
    asked = _of(campaign) | {
        "states": None if selection.states is None else list(selection.states),
        "reasons": selection.reasons and list(selection.reasons),
        "codes": selection.codes and list(selection.codes),
        "channels": selection.channels and list(selection.channels),
        "batches": _WINDOW,
    }
    named = await find_named(conn, campaign[1], selection.recipients)
    if named is not None:
        people = {"named_channels": named.channels, "named_addresses": named.addresses}
        (row,) = await _rows(conn, "would_change_for", asked | people)
        return _limited(Reach(**row, missing=named.missing), selection.limit)
    (row,) = await _rows(conn, "would_change", asked)
    seen = Reach(**row)
    more = (await _ended(conn, asked)).of(selection.states) > _WINDOW * _ROWS_OF_A_BATCH
    return _limited(Reach(seen.rows, seen.people, seen.maybe_accepted, at_least=more), selection.limit)


_ROWS_OF_A_BATCH = 500


def _limited(found: Reach, limit: int | None) -> Reach:
    if limit is None or found.rows <= limit:
        return found
    return Reach(limit, min(found.people, limit), min(found.maybe_accepted, limit), missing=found.missing)


async def orders(
    conn: Connection, campaign: tuple[str, int], *, name: str | None = None, limit: int = 50
) -> list[PlacedOrder]:
    """What was ordered of a campaign, the newest first; with a name, that one."""
    rows = await _rows(conn, "orders", _of(campaign) | {"name": name, "limit": limit})
    return [PlacedOrder(**row) for row in rows]


async def _ended(conn: Connection, asked: Mapping[str, Any]) -> Ended:
    (row,) = await _rows(conn, "totals", asked)
    return Ended(**row)


def _of(campaign: tuple[str, int]) -> dict[str, Any]:
    return {"namespace": campaign[0], "campaign": campaign[1]}


async def _rows(conn: Connection, query: str, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    return await (await conn.execute(SQL[query], asked)).fetchall()
