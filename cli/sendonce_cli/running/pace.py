"""How fast a run goes and how long it still takes. Counts with their times in, figures out; no I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from sendonce_store.standing import Overview

__all__ = ["Figures", "PaceMeter"]

WINDOW_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Deliveries that ended per second of late; seconds left, None while that can't be said."""

    per_second: float
    seconds_left: float | None


class PaceMeter:
    """The pace over the last ten seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def take(self, campaign: Overview, now: float) -> Figures:
        """Note the counts at `now` (seconds of any clock that only goes on)."""
        self._seen.append((now, campaign.counts.final))
        while len(self._seen) > 2 and now - self._seen[1][0] >= WINDOW_SECONDS:  # noqa: PLR2004 - both ends stay
            self._seen.popleft()
        begin, before = self._seen[0]
        span = now - begin
        rate = max(0.0, (campaign.counts.final - before) / span) if span > 0 else 0.0
        return Figures(rate, _seconds_left(campaign, rate))


def _seconds_left(campaign: Overview, rate: float) -> float | None:
    left = campaign.counts.pending + campaign.counts.sending
    if not campaign.imported or rate <= 0 or left == 0:
        return None
    # what waits for a moment of its own takes at least until then
    until = (campaign.next_due - campaign.now).total_seconds() if campaign.next_due and campaign.idle else 0.0
    return max(left / rate, until)
