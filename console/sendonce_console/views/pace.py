"""How fast a campaign goes, when it will be over, and whether that is in time: what ended lately in. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sendonce_store.console_campaigns import Recent
from sendonce_store.standing import Overview

FARTHEST = timedelta(days=3650)
# so long before its deadline a campaign that stands still is at risk
NEAR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pace:
    """`per_second` over the last minute; `ends`: at this pace; `at_risk`: the deadline may pass before."""

    per_second: float
    ends: datetime | None
    at_risk: bool

    def left(self, now: datetime) -> float | None:
        """Seconds until the end."""
        return None if self.ends is None else (self.ends - now).total_seconds()


def pace_of(campaign: Overview, recent: Sequence[Recent]) -> Pace | None:
    """None for a campaign that is over."""
    if campaign.ended is not None:
        return None
    rate = sum(one.ended / one.seconds for one in recent if one.campaign_id == campaign.id)
    ends = _ends(campaign, rate)
    return Pace(rate, ends, _at_risk(campaign, ends))


def _ends(c: Overview, rate: float) -> datetime | None:
    """Nothing that waits for a person, or for its recipients, can be foretold."""
    left = c.counts.pending + c.counts.sending
    stopped = c.cancelled or c.suspended or c.halt_reason is not None or c.suspended_provider is not None
    if not rate or not left or stopped or not c.imported or c.rollout_stage in {"canary", "observing", "awaiting"}:
        return None
    length = timedelta(seconds=left / rate)
    begins = max(c.now, c.provider_paused_until or c.now, c.start_at or c.now)
    return begins + length if length < FARTHEST else None


def _at_risk(c: Overview, ends: datetime | None) -> bool:
    if c.deadline is None or c.cancelled or (c.imported and not c.counts.pending + c.counts.sending):
        return False
    return ends > c.deadline if ends is not None else c.now > c.deadline - NEAR
