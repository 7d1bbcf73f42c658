"""Times as the API server writes them: whole seconds, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(when: datetime) -> str:
    """A time for people: 2026-12-04T09:00:00Z."""
    return when.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def whole_seconds(when: datetime | None) -> datetime | None:
    """A time of the ledger for a status."""
    return None if when is None else when.replace(microsecond=0)
