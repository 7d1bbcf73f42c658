"""What stands before and behind a turn of a campaign with a frequency cap (migration 0007, docs/people.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

from sendonce_store.queries import load
from sendonce_store.rows import Batch, Turn

SQL = load("queue")
Statement = tuple[LiteralString, Mapping[str, Any]]


def capping(batch: Batch, turn: Turn) -> tuple[list[Statement], list[Statement]]:
    """Statements before the turn: lock people, end what would be too much; and behind it: count what was begun."""
    group = [no for no, _ in turn.group]
    ending = [result.no for result in turn.results if result.state == "failed"]
    if not group and not ending:
        return [], []
    columns = {"batch": batch.id, "token": batch.token, "group": group, "ending": ending}
    return [(SQL["hold_caps"], columns)], [(SQL["count_contacts"], columns)]
