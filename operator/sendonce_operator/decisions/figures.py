"""What Prometheus is told of one campaign, and of one provider: what was read in, frozen numbers out.

A campaign's state is what its object says, so that an alert and `kubectl get` never differ. One that has ended is
shown for a few minutes more, so that its last numbers are scraped. After that nothing is left of it, unless a person is
waited for: its state, or how many of its deliveries have an unknown outcome, is then shown until that person has acted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta

from sendonce_operator.decisions.conditions import find
from sendonce_operator.decisions.pacing import Contest, Place, wanted
from sendonce_operator.decisions.progress import Progress, works
from sendonce_operator.decisions.ready import STANDSTILL_INTERVALS
from sendonce_store.backlog import Line
from sendonce_store.operating import ProviderState
from sendonce_store.spec import CampaignStatus, ConditionStatus
from sendonce_store.standing import Counts, Overview

LINGER = timedelta(minutes=5)
STATES = tuple(state.name for state in fields(Counts))


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was read of one campaign.

    `status` is the object's; `overview` None where it is over, or has no rows, or the store was not read. `lines` None
    where what is open was not read. `limits`: messages per second of its providers. `now`: the operator's clock.
    """

    now: datetime
    status: CampaignStatus
    overview: Overview | None = None
    progress: Progress | None = None
    lines: Sequence[Line] | None = None
    limits: Mapping[Place, float | None] = field(default_factory=dict)
    rivals: Contest = field(default_factory=Contest)


@dataclass(frozen=True, slots=True)
class CampaignFigures:
    """The numbers of one campaign. None: there is no such series now. Paces are deliveries per second."""

    state: tuple[str, str] | None = None  # status and reason of `Ready`
    deliveries: Mapping[str, int] = field(default_factory=dict)
    unresolved: int | None = None
    workers_wanted: int | None = None
    workers_ready: int | None = None
    due: int | None = None
    heartbeat_age: float | None = None
    stuck: int | None = None
    pace: float | None = None
    pace_wanted: float | None = None
    standstill: float | None = None
    deadline: float | None = None
    estimated_end: float | None = None


@dataclass(frozen=True, slots=True)
class ProviderFigures:
    """The numbers of one provider. `paused_seconds`: for how long nothing has got through since it was first paused."""

    paused: bool
    suspended: bool
    paused_seconds: float
    open: int
    pace_limit: float | None


def campaign_figures(seen: Sighting) -> CampaignFigures | None:
    """The numbers of a campaign; None where nothing is to be shown of it."""
    ended_at = seen.status.completion_time
    if ended_at is None:
        return _running(seen)
    if seen.now - ended_at < LINGER:
        counts = _counted(seen.status)
        return CampaignFigures(state=_state(seen.status), deliveries=counts, unresolved=counts.get("uncertain"))
    return _waiting_for_a_person(seen.status)


def _running(seen: Sighting) -> CampaignFigures:
    overview, workers, eta = seen.overview, seen.status.workers, seen.status.estimated_completion_time
    counts = _counted(seen.status) if overview is None else {s: getattr(overview.counts, s) for s in STATES}
    return CampaignFigures(
        state=_state(seen.status),
        deliveries=counts,
        unresolved=counts.get("uncertain"),
        workers_wanted=workers.desired if workers else None,
        workers_ready=workers.ready if workers else None,
        due=_sum(seen.lines, "ready"),
        heartbeat_age=_longest_silence(seen.lines),
        stuck=_sum(seen.lines, "stuck"),
        pace=_pace(seen),
        pace_wanted=_pace_wanted(seen),
        standstill=_standstill(seen),
        deadline=overview.deadline.timestamp() if overview and overview.deadline else None,
        estimated_end=eta.timestamp() if eta else None,
    )


def _waiting_for_a_person(status: CampaignStatus) -> CampaignFigures | None:
    state = _state(status)
    stalled = state if state is not None and state[0] == ConditionStatus.FALSE.value else None
    uncertain = _counted(status).get("uncertain", 0)
    return CampaignFigures(state=stalled, unresolved=uncertain or None) if stalled or uncertain else None


def _state(status: CampaignStatus) -> tuple[str, str] | None:
    found = find(status.conditions, "Ready")
    return None if found is None else (found.status.value, found.reason)


def _counted(status: CampaignStatus) -> dict[str, int]:
    counts = status.deliveries
    return {} if counts is None else {state: getattr(counts, state) for state in STATES}


def _sum(lines: Sequence[Line] | None, name: str) -> int | None:
    return None if lines is None else sum(getattr(line, name) for line in lines)


def _longest_silence(lines: Sequence[Line] | None) -> float | None:
    return None if lines is None else max((line.silent for line in lines), default=0.0)


def _pace(seen: Sighting) -> float | None:
    if seen.overview is None:
        return None
    rate = seen.progress.per_second if seen.progress else None
    return rate or 0.0


def _pace_wanted(seen: Sighting) -> float | None:
    if seen.overview is None or seen.lines is None:
        return None
    return wanted(seen.lines, seen.limits, seen.overview.priority, seen.rivals) if _may(seen) else 0.0


def _may(seen: Sighting) -> bool:
    """Whether it could hand off now as far as the store says, and its providers too."""
    return seen.overview is not None and works(seen.overview)


def _standstill(seen: Sighting) -> float | None:
    if seen.overview is None:
        return None
    if seen.progress is None or not _may(seen):
        return 0.0
    stands = (seen.overview.now - seen.progress.moved_at).total_seconds()
    return stands if stands >= _longest_wait(seen.limits) else 0.0


def _longest_wait(limits: Mapping[Place, float | None]) -> float:
    """Seconds that a provider's own pace may let pass between two messages."""
    rates = [rate for rate in limits.values() if rate is not None]
    return STANDSTILL_INTERVALS / min(rates) if rates else 0.0


def troubled_since(before: Mapping[Place, float], states: Sequence[ProviderState], now: float) -> dict[Place, float]:
    """Since when each provider has let nothing through, from one look to the next; `now` is monotonic, in seconds."""
    found = {}
    for state in states:
        place = (state.kind, state.namespace, state.name)
        if state.pauses_in_row:
            found[place] = before.get(place, now)
    return found


def provider_figures(
    state: ProviderState, since: float | None, now: float, lines: Sequence[Line], limit: float | None
) -> ProviderFigures:
    """The numbers of a provider; `since` and `now` as in `troubled_since`, `lines` are those over it."""
    return ProviderFigures(
        paused=state.paused_until is not None and state.paused_until > state.now,
        suspended=state.suspended,
        paused_seconds=0.0 if since is None else now - since,
        open=sum(line.open for line in lines),
        pace_limit=limit,
    )
