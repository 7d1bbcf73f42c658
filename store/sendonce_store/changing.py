"""What an order does to the rows of one batch: a selection in, how many matched and changed out.

All of it is one transaction under the batch's lock, with the place noted, so that an order that dies goes on where it
was. Orders to open rows again wait for each other, by the campaign's lock behind the batch's: two of them must not open
two channels of one person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sendonce_store.connection import Connection
from sendonce_store.fallbacks import add_fallbacks
from sendonce_store.named_people import NamedPeople
from sendonce_store.queries import load

if TYPE_CHECKING:
    from sendonce_store.actions import Order, Target

__all__ = ["Counted", "change_batch", "meant"]

SQL = load("actions")
Rows = Sequence[Mapping[str, Any]]


class Counted(NamedTuple):
    """Rows that matched and were looked at, and those of them that were changed."""

    matched: int
    changed: int


def meant(order: Order, named: NamedPeople | None) -> dict[str, Any]:
    """Whose rows and which, as the statements name it; null: anybody's, any."""
    people: dict[str, Any] = {"named_channels": None, "named_addresses": None}
    if named is not None:
        people = {"named_channels": named.channels, "named_addresses": named.addresses}
    return order.document() | people


async def change_batch(
    conn: Connection, target: Target, order: Order, place: tuple[int, int], named: NamedPeople | None
) -> None:
    """Change what matches in one batch. `place`: the batch, and how many rows at most."""
    batch, limit = place
    here = {"campaign": target.campaign_id, "name": order.name, "batch": batch}
    async with conn.transaction():
        await conn.execute(SQL["lock_batch"], here)
        # of what a Retry passes over, nothing counts against its limit: it looks at the whole batch
        asked = here | meant(order, named) | {"limit": None if order.type == "Retry" else limit}
        rows = await (await conn.execute(SQL["matching"], asked)).fetchall()
        done = (
            await _change(conn, order, _parameters(target, order, batch, rows), rows, limit) if rows else Counted(0, 0)
        )
        await conn.execute(SQL["count_action"], here | done._asdict())


def _parameters(target: Target, order: Order, batch: int, rows: Rows) -> dict[str, Any]:
    return {
        "campaign": target.campaign_id,
        "batch": batch,
        "nos": [row["no"] for row in rows],
        "patience": order.patience,
        "state": order.resolve_as,
        "uncancel": False,
        "source": f"order {order.name}" + (f" by {order.requested_by}" if order.requested_by else ""),
    }


async def _change(conn: Connection, order: Order, asked: Mapping[str, Any], rows: Rows, limit: int) -> Counted:
    if order.type == "Retry":
        return await _retry(conn, asked, rows, limit)
    if order.type in {"Suppress", "Unsuppress"}:
        changed = (await conn.execute(SQL[f"{order.type.lower()}_rows"], asked)).rowcount
    elif order.resolve_as == "resend":
        changed = await _resend(conn, asked)
    else:
        changed = await _resolve(conn, asked)
    return Counted(len(rows), changed)


async def _resolve(conn: Connection, asked: Mapping[str, Any]) -> int:
    cursor = await conn.execute(SQL["resolve_rows"], asked)
    if asked["state"] == "failed":
        await conn.execute(SQL["reopen_campaign"], asked)
        await add_fallbacks(conn, asked["campaign"], asked["batch"])
    return cursor.rowcount


async def _resend(conn: Connection, asked: Mapping[str, Any]) -> int:
    await conn.execute(SQL["reopen_batch"], asked)
    cursor = await conn.execute(SQL["resend_rows"], asked)
    await _opened(conn, asked, cursor.rowcount)
    return cursor.rowcount


async def _retry(conn: Connection, asked: Mapping[str, Any], rows: Rows, limit: int) -> Counted:
    """Open the first `limit` rows that can be opened."""
    await conn.execute(SQL["lock_campaign"], asked)
    await conn.execute(SQL["reopen_batch"], asked)
    cursor = await conn.execute(SQL["retry_rows"], {**asked, "limit": limit})
    taken = {row["no"] for row in await cursor.fetchall()}
    uncancel = any(row["state"] == "cancelled" for row in rows if row["no"] in taken)
    await _opened(conn, {**asked, "uncancel": uncancel}, len(taken))
    return counted(rows, taken, limit)


def counted(rows: Rows, taken: set[int], limit: int) -> Counted:
    """Of `rows`, in their order: those before the one that made up the limit were looked at, else all."""
    if len(taken) < limit:
        return Counted(len(rows), len(taken))
    last = max(taken)
    return Counted(sum(row["no"] <= last for row in rows), len(taken))


async def _opened(conn: Connection, asked: Mapping[str, Any], changed: int) -> None:
    if changed:
        await conn.execute(SQL["reopen_campaign"], asked)
    await conn.execute(SQL["close_unchanged"], asked)
