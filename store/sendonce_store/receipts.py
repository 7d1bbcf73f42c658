"""What providers report later: receipts in, what became of each of them out. Whose they are is settled in the database.

A receipt names its delivery by our own id in the message's metadata, or by the provider's id of the message and the
address, or it is about a person alone. It may come late, twice, out of order, and about messages of somebody else:
the database's function `gateway_receipt` sees to all of that, and the login that calls it can do nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("receipts")
EVERY_NAMESPACE = ""
KEPT_DAYS = 30
STEP = 5000
LONGEST_DETAIL = 500
LONGEST_ID = 255


class Kind(StrEnum):
    """What a provider can say of a message, or of a person."""

    ACCEPTED = "accepted"  # it has the message; nothing is known of its arrival
    DELIVERED = "delivered"
    BOUNCED = "bounced"  # for good: the address takes no mail
    BOUNCED_TRANSIENT = "bounced_transient"  # not delivered, and the address may be fine
    FAILED = "failed"
    DROPPED = "dropped"  # taken, and never sent on
    COMPLAINED = "complained"
    UNSUBSCRIBED = "unsubscribed"
    BLOCKED = "blocked"  # the person blocked the sender: nothing arrives
    RETURNED = "returned"  # takes an unsubscription or a block back


@dataclass(frozen=True, slots=True)
class Receipt:
    """One report. `event_id` is the same when it comes again; `at` is aware, None: not told.

    With neither `delivery_id` (ours) nor `message_id` (the provider's) it is about the person at `address` of
    `channel`. `address`: in the normal form of deliveries. `once`: no other event can bear this id, whatever it says.
    """

    kind: Kind
    event_id: str
    at: datetime | None = None
    delivery_id: str | None = None
    message_id: str | None = None
    address: str | None = None
    channel: str | None = None
    detail: str = ""
    once: bool = False


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who reports: a provider by its name, for a namespace or, as a cluster provider, for EVERY_NAMESPACE.

    `kind`: what it is, as in its address at the gateway (`ses`).
    """

    namespace: str
    kind: str
    provider: str

    @property
    def origin(self) -> str:
        """How it is named in the ledger, and as the source of suppressions."""
        return f"receipt:{self.kind}/{self.provider}"


async def record(conn: Connection, reporter: Reporter, receipts: Sequence[Receipt]) -> list[tuple[Receipt, str]]:
    """Take receipts in, all or none of them. With each: settled, marked, noted, repeated or unknown.

    They are taken in the order of their deliveries, so that two calls wait for each other instead of both.
    """
    ordered = sorted(receipts, key=_place)
    who = {"namespace": reporter.namespace, "provider": reporter.provider, "origin": reporter.origin}
    cursor = await conn.execute(SQL["record"], who | _columns(ordered))
    return [(receipt, row["result"]) for receipt, row in zip(ordered, await cursor.fetchall(), strict=True)]


def _place(receipt: Receipt) -> tuple[int, str]:
    batch, _, rest = (receipt.delivery_id or "").partition("-")
    return (int(batch), rest) if batch.isascii() and batch.isdigit() and len(batch) < LONGEST_ID else (0, "")


def _columns(receipts: Sequence[Receipt]) -> dict[str, list[Any]]:
    return {
        "kinds": [str(one.kind) for one in receipts],
        "events": [_bounded(_clean(one.event_id)) for one in receipts],
        "deliveries": [_identity(one.delivery_id) for one in receipts],
        "messages": [_identity(one.message_id) for one in receipts],
        "people": [_identity(one.address) for one in receipts],
        "channels": [one.channel for one in receipts],
        "times": [one.at for one in receipts],
        "details": [_clean(one.detail)[:LONGEST_DETAIL] for one in receipts],
        "once": [one.once for one in receipts],
    }


def _identity(text: str | None) -> str | None:
    """As it was kept when the message was sent; None for nothing."""
    return _clean(text) or None if text else None


def _clean(text: str) -> str:
    """In one line, of printable characters: the database takes no NUL, and what is shown is not to be disguised."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _bounded(text: str) -> str:
    return text if 0 < len(text.encode()) <= LONGEST_ID else sha256(text.encode()).hexdigest()


async def forget(conn: Connection, days: int = KEPT_DAYS, step: int = STEP) -> int:
    """Forget events that were taken in `days` ago, in small steps; returns how many."""
    gone = 0
    while True:
        cursor = await conn.execute(SQL["forget"], {"days": days, "step": step})
        gone += cursor.rowcount
        if cursor.rowcount < step:
            return gone


async def reported(conn: Connection, seconds: float) -> set[int]:
    """Finished campaigns of which something was reported in the last `seconds`."""
    cursor = await conn.execute(SQL["reported"], {"seconds": seconds})
    return {row["id"] for row in await cursor.fetchall()}
