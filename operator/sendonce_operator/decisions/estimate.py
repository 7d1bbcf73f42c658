"""When a campaign will be over: its rate and what is left in, a whole minute out.

An estimate that moves with every look is noise, and each change is a write: the old one stands while the new one is
close to it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sendonce_operator.decisions.facts import ProviderFacts, Situation
from sendonce_operator.decisions.progress import works
from sendonce_store.standing import Overview

MINUTE = timedelta(minutes=1)
# the old estimate stands while the new one differs by no more than this share of what is left, or by two minutes
CLOSE_SHARE = 0.1
CLOSE = 2 * MINUTE
FARTHEST = timedelta(days=3650)


def estimate(situation: Situation) -> datetime | None:
    """The estimated end; None where it can't be known: not imported, standing still, waiting for a person."""
    overview = situation.overview
    if overview is None or situation.refusal is not None or not _runs(situation, overview):
        return None
    rate = _per_second(situation)
    left = overview.counts.pending + overview.counts.sending
    if not rate or not left or timedelta(seconds=left / rate) > FARTHEST:
        return None
    fresh = max(overview.now, _begins(overview)) + timedelta(seconds=left / rate)
    return _steady(situation.old.estimated_completion_time, fresh, overview.now)


def _runs(situation: Situation, c: Overview) -> bool:
    stopped = c.ended is not None or c.cancelled or c.halt_reason is not None or situation.held_by is not None
    return c.imported and not stopped and c.rollout_stage not in {"canary", "observing", "awaiting"}


def _begins(c: Overview) -> datetime:
    """When hand-offs can go on: after the start, a pause, or quiet hours."""
    later = [c.start_at, c.provider_paused_until, None if works(c) else c.next_due]
    return max((moment for moment in later if moment is not None), default=c.now)


def _per_second(situation: Situation) -> float | None:
    """The rate that was seen; before anything was seen, the providers' pace."""
    seen = situation.progress.per_second if situation.progress else None
    return seen or paced(situation.providers)


def paced(providers: tuple[ProviderFacts, ...]) -> float | None:
    """Deliveries per second that the providers together allow; None where one of them has no limits."""
    rates = {(provider.kind, provider.name): provider.per_second for provider in providers}
    known = [rate for rate in rates.values() if rate is not None]
    return sum(known) if known and len(known) == len(rates) else None


def _steady(old: datetime | None, fresh: datetime, now: datetime) -> datetime:
    if old is not None and old > now and abs(fresh - old) <= max(CLOSE, CLOSE_SHARE * (fresh - now)):
        return old
    rounded = fresh.replace(second=0, microsecond=0)
    return rounded if rounded == fresh else rounded + MINUTE
