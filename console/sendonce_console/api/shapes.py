"""The records of campaigns and providers as programs get them, made of what the pages show. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sendonce_console.views.campaigns import Row, counts_of
from sendonce_console.views.pace import Pace
from sendonce_console.views.providers import ProviderView
from sendonce_store.masking import mask_foreign
from sendonce_store.standing import Counts, Overview, Standing

if TYPE_CHECKING:
    from sendonce_console.pages.campaign import Detail


@dataclass(frozen=True, slots=True)
class People:
    """Rows of the list: total + duplicates + rejected; unreachable are people without an address for it."""

    total: int
    duplicates: int
    rejected: int
    unreachable: int


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Deliveries by state; the states add up to the total."""

    total: int
    pending: int
    sending: int
    sent: int
    failed: int
    uncertain: int
    suppressed: int
    expired: int
    cancelled: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Deliveries per second in the last minute, and the end at that pace."""

    per_second: float
    ends: datetime | None
    deadline_at_risk: bool


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign. `reason` is `Ready.reason`; `stalled`: it takes a person; `speed` null: it is over."""

    name: str
    namespace: str
    send_key: str
    reason: str
    message: str
    stalled: bool
    ended: str | None
    category: str
    topic: str | None
    applied_by: str | None
    created_at: datetime
    start_time: datetime | None
    completion_time: datetime | None
    deadline: datetime | None
    recipients: People
    deliveries: Deliveries
    speed: Speed | None


@dataclass(frozen=True, slots=True)
class CampaignList:
    """Campaigns, the newest first. `next`: give it as `after` for what follows; null: that was all."""

    items: Sequence[Campaign]
    next: str | None


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel of a campaign."""

    channel: str
    deliveries: Deliveries


@dataclass(frozen=True, slots=True)
class Failure:
    """Deliveries that ended alike, not sent; `message`: one of the far end's answers."""

    state: str
    channel: str
    reason: str | None
    code: str | None
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process; `silent_seconds` since its last heartbeat; `batches` that it holds."""

    id: str
    started_at: datetime
    stopped_at: datetime | None
    silent_seconds: float
    batches: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened."""

    at: datetime
    title: str
    detail: str
    said: str


@dataclass(frozen=True, slots=True)
class CampaignDetail:
    """A campaign with all about it. `failures_counted`: the groups are of so many of the deliveries not sent."""

    campaign: Campaign
    channels: Sequence[Channel]
    failures: Sequence[Failure]
    failures_counted: int
    failures_total: int
    workers: Sequence[Worker]
    timeline: Sequence[Happening]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit in words; `used` of `burst` messages are taken at present."""

    limit: str
    used: int
    burst: int


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider. `namespace` '' is the whole cluster; `state`: Ready, ProviderPaused or Suspended."""

    id: int
    kind: str
    namespace: str
    name: str
    type: str
    state: str
    message: str
    paused_until: datetime | None
    per_second: float
    limits: Sequence[Limit]


@dataclass(frozen=True, slots=True)
class ProviderList:
    """Providers."""

    items: Sequence[Provider]


def campaign_of(row: Row, *, people: bool) -> Campaign:
    """`people`: whether the far end's words may be shown as they are."""
    return _campaign(row.campaign, row.stands, row.pace, row.applied_by, people=people)


def _campaign(c: Overview, stands: Standing, pace: Pace | None, applied_by: str | None, *, people: bool) -> Campaign:
    return Campaign(
        name=c.name,
        namespace=c.namespace,
        send_key=c.send_key,
        reason=stands.reason,
        message=stands.message if people else mask_foreign(stands.message),
        stalled=stands.stalled,
        ended=c.ended,
        category=c.category,
        topic=c.topic,
        applied_by=applied_by,
        created_at=c.created_at,
        start_time=c.started_at,
        completion_time=c.completed_at,
        deadline=c.deadline,
        recipients=People(c.total, c.duplicates, c.rejected, c.unreachable),
        deliveries=_deliveries(counts_of(c.counts)),
        speed=None if pace is None else Speed(pace.per_second, pace.ends, pace.at_risk),
    )


def _deliveries(counts: Mapping[str, int]) -> Deliveries:
    return Deliveries(total=Counts(**counts).total, **counts)


def detail_of(d: Detail, *, people: bool) -> CampaignDetail:
    """All about a campaign."""
    held = {name: lease.batches for name, lease in d.story.leases.items()}
    return CampaignDetail(
        _campaign(d.campaign, d.stands, d.pace, d.record.applied_by, people=people),
        [Channel(name, _deliveries(counts)) for name, counts in d.channels.items()],
        [Failure(g.state, g.channel, g.reason, g.code, v.message, g.count) for v in d.failures for g in [v.group]],
        d.groups.counted,
        d.groups.total,
        [
            Worker(
                one.id,
                one.started_at,
                one.stopped_at,
                one.silent_seconds,
                held.get(one.id, 0),
                _told(one.problem, people=people),
            )
            for one in d.story.workers
        ],
        [Happening(one.at, one.title, one.detail, one.said) for one in d.moments],
    )


def _told(words: str | None, *, people: bool) -> str | None:
    return words if people or words is None else mask_foreign(words)


def provider_of(view: ProviderView) -> Provider:
    """A provider."""
    one = view.provider
    limits = [Limit(budget.said, budget.used, budget.burst) for budget in view.budgets]
    paused_until = one.paused_until if one.paused else None
    return Provider(
        one.id,
        one.kind,
        one.namespace,
        one.name,
        view.type,
        view.state,
        view.why,
        paused_until,
        view.per_second,
        limits,
    )
