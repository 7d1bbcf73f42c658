"""How fast a campaign goes, followed from one look to the next. Overviews in, a frozen record out.

The operator keeps one record per active campaign in memory and hands the last one back in. After a restart it begins
anew: an estimate is then missing for a moment, and a standstill is noticed later.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import exp

from sendonce_store.standing import Overview

# the rate is that of the last minutes: older looks count less and less
MEMORY_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The last look (the database's time), the rate of ended deliveries, and when anything last moved.

    `per_second` is None until it is known. `moved_at` is also the last time at which nothing could move.
    """

    looked_at: datetime
    ended: int
    per_second: float | None
    moved_at: datetime


def follow(last: Progress | None, overview: Overview) -> Progress:
    """The record after this look."""
    ended = overview.counts.final
    if last is None:
        return Progress(overview.now, ended, None, overview.now)
    working = works(overview)
    stands = working and ended == last.ended
    rate = _rate(last, overview, ended) if working else last.per_second
    return Progress(overview.now, ended, rate, last.moved_at if stands else overview.now)


def works(overview: Overview) -> bool:
    """Whether deliveries could end now: what waits for its time, a provider or a person is no standstill."""
    stopped = overview.suspended or overview.halt_reason is not None or overview.ended is not None
    paused = overview.provider_paused_until is not None or overview.suspended_provider is not None
    early = overview.start_at is not None and overview.start_at > overview.now
    return not (stopped or paused or early or overview.idle)


def _rate(last: Progress, overview: Overview, ended: int) -> float | None:
    seconds = (overview.now - last.looked_at).total_seconds()
    if seconds <= 0:
        return last.per_second
    seen = max(ended - last.ended, 0) / seconds
    if last.per_second is None:
        return seen or None
    weight = exp(-seconds / MEMORY_SECONDS)
    return last.per_second * weight + seen * (1 - weight)
