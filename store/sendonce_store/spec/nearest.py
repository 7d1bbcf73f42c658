"""The known name that somebody probably meant."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest"]


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to `name` (case, '-' and '_' do not count), or None if none is near."""
    by_folded = {_folded(candidate): candidate for candidate in sorted(known)}
    # a name much longer than any known one can't be near, and comparing it costs time
    close = get_close_matches(_folded(name[:100]), by_folded, n=1, cutoff=0.7)
    return by_folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean recipients?`, or an empty text if nothing is near."""
    found = nearest(name, known)
    return f"; did you mean {found}?" if found else ""
