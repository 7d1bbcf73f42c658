"""People over all campaigns, for the console: an address, an id or a part of an address in; whose it is out.

Nothing is scanned: each question is asked campaign by campaign through an index, of the newest `CAMPAIGNS` with data,
and answers say whether there are more campaigns than that. What became of one person in one campaign: `tracing`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sendonce_store.connection import Connection
from sendonce_store.consent import OptOut, Suppression
from sendonce_store.ledger import Filter, Refused
from sendonce_store.named_people import BIGGEST_LINE
from sendonce_store.queries import load

__all__ = [
    "CAMPAIGNS",
    "AddressHit",
    "PrefixHit",
    "RecipientLine",
    "RecipientPage",
    "RefHit",
    "by_address",
    "by_delivery_id",
    "by_message_id",
    "by_prefix",
    "by_ref",
    "consent_of",
    "has_more_campaigns",
    "recipients",
    "reject_of_line",
]

SQL = load("console_people")
# so many campaigns are asked, the newest first
CAMPAIGNS = 5_000
_HITS = 200
_EACH = 20
# so many batches of at most 500 rows are looked through for one page: below 100 ms
_WINDOW = 200
# to look for a message id each row is read
_MESSAGE_WINDOW = 100
_DELIVERY = re.compile(r"(\d{1,19})-(\d{1,9})(?:-([0-9a-f]{8}))?", re.ASCII)
# every code point of a text is below this one
_BEHIND_ALL = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class AddressHit:
    """A delivery to the address asked for; `line` is its recipient's."""

    campaign_id: int
    namespace: str
    send_key: str
    name: str
    created_at: datetime
    line: int
    ref: str | None
    channel: str
    address: str
    state: str
    reason: str | None
    code: str | None
    finished_at: datetime | None
    last_attempt_at: datetime | None


@dataclass(frozen=True, slots=True)
class PrefixHit:
    """An address that begins so, and in how many campaigns it was met."""

    namespace: str
    channel: str
    address: str
    campaigns: int
    newest_at: datetime


@dataclass(frozen=True, slots=True)
class RefHit:
    """A recipient of one campaign with the id asked for. `addresses`: channel → [as written, normalised]."""

    campaign_id: int
    namespace: str
    send_key: str
    name: str
    created_at: datetime
    line: int
    ref: str
    addresses: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class RecipientLine:
    """One delivery of a list; `batch_id` and `no` are its place."""

    batch_id: int
    no: int
    line: int
    ref: str | None
    channel: str
    address: str | None
    state: str
    reason: str | None
    code: str | None
    error: str | None
    attempts: int
    message_id: str | None
    updated: datetime | None
    next_attempt_at: datetime | None
    provider: str | None


@dataclass(frozen=True, slots=True)
class RecipientPage:
    """Deliveries in the order of their places. `next`: where to go on; None: that was all.

    A page can be short, or empty, and have a next: so far nothing more was found.
    """

    items: Sequence[RecipientLine]
    next: tuple[int, int] | None


async def by_address(
    conn: Connection, namespaces: Sequence[str], addresses: Mapping[str, str], limit: int = _HITS
) -> list[AddressHit]:
    """Deliveries to these normalised addresses (channel → address), the newest campaigns first."""
    asked = {
        "namespaces": list(namespaces),
        "channels": list(addresses),
        "addresses": list(addresses.values()),
        "campaigns": CAMPAIGNS,
        "limit": limit,
    }
    return [AddressHit(**row) for row in await _rows(conn, "by_address", asked)]


async def by_prefix(
    conn: Connection, namespaces: Sequence[str], prefixes: Mapping[str, str], limit: int = 50
) -> list[PrefixHit]:
    """Addresses that begin so (channel → beginning), in order."""
    asked = {
        "namespaces": list(namespaces),
        "channels": list(prefixes),
        "prefixes": list(prefixes.values()),
        "ends": [prefix + _BEHIND_ALL for prefix in prefixes.values()],
        "campaigns": CAMPAIGNS // 10,
        "each": _EACH,
        "limit": limit,
    }
    return [PrefixHit(**row) for row in await _rows(conn, "by_prefix", asked)]


async def by_ref(conn: Connection, namespaces: Sequence[str], ref: str, limit: int = _HITS) -> list[RefHit]:
    """Recipients with this id of the sender's, the newest campaigns first."""
    asked = {"namespaces": list(namespaces), "ref": ref, "campaigns": CAMPAIGNS, "limit": limit}
    return [RefHit(**row) for row in await _rows(conn, "by_ref", asked)]


async def by_message_id(
    conn: Connection, namespaces: Sequence[str], message_id: str, before: int = BIGGEST_LINE
) -> tuple[list[AddressHit], int | None]:
    """Deliveries with this message id of the far end's, among the newest batches; and where to look on (None: all)."""
    asked = {"namespaces": list(namespaces), "before": before, "batches": _MESSAGE_WINDOW + 1, "message_id": message_id}
    found = [row["id"] for row in await _rows(conn, "batches_before", asked)]
    rows = await _rows(conn, "by_message_id", asked | {"batches": found[:_MESSAGE_WINDOW]})
    return [AddressHit(**row) for row in rows], found[_MESSAGE_WINDOW - 1] if len(found) > _MESSAGE_WINDOW else None


async def by_delivery_id(conn: Connection, namespaces: Sequence[str], delivery: str) -> list[AddressHit]:
    """The delivery with this id of ours (`batch-no`, or `batch-no-key`); none where the text is no such id."""
    place = _DELIVERY.fullmatch(delivery)
    if place is None or int(place[1]) > BIGGEST_LINE:
        return []
    asked = {"namespaces": list(namespaces), "batch": int(place[1]), "no": int(place[2]), "key": place[3]}
    return [AddressHit(**row) for row in await _rows(conn, "by_delivery_id", asked)]


async def has_more_campaigns(conn: Connection, namespaces: Sequence[str]) -> bool:
    """Whether there are more campaigns with data than are asked."""
    rows = await _rows(conn, "how_many_campaigns", {"namespaces": list(namespaces), "limit": CAMPAIGNS + 1})
    return bool(rows and rows[0]["campaigns"] > CAMPAIGNS)


async def reject_of_line(conn: Connection, campaign: tuple[str, int], line: int) -> Refused | None:
    """The row of the source that was refused, if it is that line. `campaign`: its namespace and id."""
    rows = await _rows(conn, "reject_of_line", {"namespace": campaign[0], "campaign": campaign[1], "line": line})
    return Refused(**rows[0]) if rows else None


async def consent_of(
    conn: Connection, namespace: str, addresses: Mapping[str, str]
) -> tuple[list[Suppression], list[OptOut]]:
    """What keeps messages from these addresses (channel → normalised), whatever they are about."""
    asked = {"namespace": namespace, "channels": list(addresses), "addresses": list(addresses.values())}
    suppressions = [Suppression(**row) for row in await _rows(conn, "suppressions_of", asked)]
    return suppressions, [OptOut(**row) for row in await _rows(conn, "opt_outs_of", asked)]


async def recipients(
    conn: Connection, campaign: tuple[str, int], wanted: Filter, *, after: tuple[int, int] = (0, 0), limit: int = 100
) -> RecipientPage:
    """A page of a campaign's deliveries, from behind a place on. `campaign`: its namespace and id."""
    namespace, campaign_id = campaign
    asked = wanted.parameters() | {
        "campaign": campaign_id,
        "namespace": namespace,
        "after_batch": after[0],
        "after_no": after[1],
    }
    found = [row["id"] for row in await _rows(conn, "batches_from", asked | {"batches": _WINDOW + 1})]
    window = found[:_WINDOW]
    rows = await _rows(conn, "recipients", asked | {"batches": window, "limit": limit})
    items = [RecipientLine(**row) for row in rows]
    return RecipientPage(items, _next(items, limit, window, found))


def _next(
    items: Sequence[RecipientLine], limit: int, window: Sequence[int], found: Sequence[int]
) -> tuple[int, int] | None:
    if len(items) == limit:
        return items[-1].batch_id, items[-1].no
    return (found[len(window)], 0) if len(found) > len(window) else None


async def _rows(conn: Connection, query: str, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    return await (await conn.execute(SQL[query], asked)).fetchall()
