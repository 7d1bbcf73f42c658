"""How many workers a campaign wants now: its counts, its spec and its providers in, a number out.

Enough for what is due; never more than its providers' pace can use, nor than the spec or the operator allows; none when
nothing can be done. More are wanted at once, fewer only when half of them would do, and none only when nothing comes
due for a while: starting and stopping Pods is work too, and a number that flaps is worse than one that is not exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil, inf

from sendonce_operator.decisions.facts import Defaults, Mode, ProviderFacts
from sendonce_store.spec import CampaignSpec
from sendonce_store.standing import Overview

# a batch, the least that a worker can take, has up to so many deliveries (docs/store.md)
BATCH = 500
# a typical hand-off, in seconds: what one message in flight can do per second
USUAL_SECONDS = 0.25
# a slow one: so long a pace may need to be kept up through
SLOW_SECONDS = 1.0
# work for less than this time is not worth one more Pod, which takes ten seconds to start
WORTH_SECONDS = 30.0
# a worker is started so long before it is needed, and kept while the next work is no farther away
LEAD = timedelta(seconds=60)
LINGER = timedelta(minutes=5)


def replicas(
    overview: Overview, spec: CampaignSpec, providers: Sequence[ProviderFacts], defaults: Defaults, current: int
) -> int:
    """Workers wanted now; `current` is the Deployment's number, 0 where there is none.

    Not for a campaign that is refused, whose number is 0.
    """
    if overview.ended is not None:
        return 0
    if _stopped(overview, spec, defaults):
        return _tidying(overview)
    wanted = min(_useful(overview, spec, providers), _most(spec, providers, defaults))
    if wanted == 0:
        return _lingering(overview, providers, current)
    return wanted if wanted > current or 2 * wanted <= current or _over(spec, providers, defaults, current) else current


def _stopped(c: Overview, spec: CampaignSpec, defaults: Defaults) -> bool:
    """Nothing is to be handed off until a person, or the operator's mode, says so. A cancelled import still goes on."""
    if c.cancelled or spec.cancel:
        return c.imported or c.import_state == "failed"
    held = spec.suspend or c.suspended or c.halt_reason is not None or defaults.mode is Mode.STANDBY
    return held or c.rollout_stage == "awaiting"


def _tidying(c: Overview) -> int:
    """What a worker that died left in flight is settled by another, whatever stands still."""
    return 1 if c.counts.sending else 0


def _useful(c: Overview, spec: CampaignSpec, providers: Sequence[ProviderFacts]) -> int:
    """Workers that would all have something to do."""
    importing = 0 if c.imported or c.import_state == "failed" else 1
    if _early(c) or not _open(providers, c.now):
        return max(importing, _tidying(c), 1 if _soon(c, providers, LEAD) else 0)
    batches = ceil(c.due / BATCH) + c.leased_batches
    rows = min(c.counts.pending + c.counts.sending - c.waiting, c.due + c.leased_batches * BATCH)
    worth = ceil(max(rows, 0) / _worth(spec, providers))
    busy = max(1, min(batches, worth)) if batches or c.counts.sending else 0
    return max(busy, importing, 1 if _soon(c, providers, LEAD) else 0)


def _worth(spec: CampaignSpec, providers: Sequence[ProviderFacts]) -> float:
    """Deliveries that one worker ends in the time that makes it worth its Pod."""
    in_flight = min((_in_flight(spec, provider) for provider in providers), default=spec.workers.concurrency)
    return in_flight / USUAL_SECONDS * WORTH_SECONDS


def _in_flight(spec: CampaignSpec, provider: ProviderFacts) -> int:
    return min(spec.workers.concurrency, provider.max_in_flight)


def _most(spec: CampaignSpec, providers: Sequence[ProviderFacts], defaults: Defaults) -> int:
    """Workers that may be there at most."""
    by_pace = sum(_kept_busy(spec, provider) for provider in _distinct(providers)) or inf
    return int(min(spec.workers.max, defaults.max_workers, by_pace))


def _kept_busy(spec: CampaignSpec, provider: ProviderFacts) -> float:
    """Workers that the provider's pace keeps busy, even when each hand-off is slow."""
    rate = provider.per_second
    if rate is None:
        return inf
    seconds = min(SLOW_SECONDS, provider.timeout_seconds)
    return max(1, ceil(rate * seconds / _in_flight(spec, provider)))


def _distinct(providers: Sequence[ProviderFacts]) -> Sequence[ProviderFacts]:
    return list({(provider.kind, provider.name): provider for provider in providers}.values())


def _over(spec: CampaignSpec, providers: Sequence[ProviderFacts], defaults: Defaults, current: int) -> bool:
    return current > _most(spec, providers, defaults)


def _early(c: Overview) -> bool:
    return c.start_at is not None and c.start_at > c.now


def _open(providers: Sequence[ProviderFacts], now: datetime) -> bool:
    """Whether any provider takes messages now."""
    return not providers or any(_opens(provider, now) == now for provider in providers)


def _opens(provider: ProviderFacts, now: datetime) -> datetime | None:
    """When the provider takes messages; None: when a person lets it."""
    if provider.suspended:
        return None
    return now if provider.paused_until is None else max(provider.paused_until, now)


def _soon(c: Overview, providers: Sequence[ProviderFacts], within: timedelta) -> bool:
    """Whether work comes due within this time that a worker should be there for."""
    comes = c.now if c.due else c.next_due
    opens = [when for provider in providers if (when := _opens(provider, c.now)) is not None]
    if comes is None or (providers and not opens):
        return False
    later = max(comes, c.start_at or c.now, min(opens, default=c.now))
    return later - c.now <= within


def _lingering(c: Overview, providers: Sequence[ProviderFacts], current: int) -> int:
    """Nothing is due; one worker of those that are there stays for what comes due before long."""
    return 1 if current and _soon(c, providers, LINGER) else 0
