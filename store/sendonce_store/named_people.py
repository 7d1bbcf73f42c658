"""The people whom an order names: references and lines in; the addresses by which their deliveries are found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sendonce_store.connection import Connection
from sendonce_store.queries import load

__all__ = ["BIGGEST_LINE", "MOST_NAMED", "NamedPeople", "find_named", "line_of"]

SQL = load("actions")
BIGGEST_LINE = 2**63 - 1
# a reference that more rows of the source carry names nobody
MOST_NAMED = 10_000
_PREFIX = "line:"


@dataclass(frozen=True, slots=True)
class NamedPeople:
    """Addresses by channel, side by side, of the people (`rows`) found; above MOST_NAMED they are not all.

    `missing`: of the `asked` names, those that nobody in the campaign has.
    """

    channels: list[str]
    addresses: list[str]
    rows: int
    asked: int
    missing: int


def line_of(name: str) -> int | None:
    """`line:12` → 12; None: it is a reference."""
    digits = name.removeprefix(_PREFIX)
    if digits == name or not digits.isascii() or not digits.isdecimal() or len(digits) > len(str(BIGGEST_LINE)):
        return None
    return min(int(digits), BIGGEST_LINE)


async def find_named(conn: Connection, campaign_id: int, names: Sequence[str] | None) -> NamedPeople | None:
    """Look the names up; None: nobody is named, and anybody is meant."""
    if names is None:
        return None
    lines = {name: line for name in names if (line := line_of(name)) is not None}
    refs = [name for name in names if name not in lines]
    asked = {"campaign": campaign_id, "refs": refs, "lines": list(lines.values())}
    rows = await (await conn.execute(SQL["named_people"], asked)).fetchall()
    known = {row["ref"] for row in rows} | {row["no"] for row in rows}
    pairs = sorted({(channel, pair[1]) for row in rows for channel, pair in row["addresses"].items()})
    missing = sum(lines.get(name, name) not in known for name in names)
    return NamedPeople([pair[0] for pair in pairs], [pair[1] for pair in pairs], len(rows), len(names), missing)
