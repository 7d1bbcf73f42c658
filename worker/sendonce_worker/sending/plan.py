"""What a campaign wants of one channel, put together once and shared by all batches of the channel."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time

from sendonce_rendering import CompiledMessage
from sendonce_store.campaigns import Channel
from sendonce_store.rows import Fallback, Repeats, Terms
from sendonce_store.spec import CampaignSpec, UncertainPolicy, UnknownTimezonePolicy
from sendonce_worker.linking import Linking
from sendonce_worker.metrics import DeliverySeries, ProviderSeries
from sendonce_worker.providers.base import BatchProvider, Provider
from sendonce_worker.sending.outcomes import Backoff, Rules
from sendonce_worker.sending.pacer import Pacer
from sendonce_worker.sending.quiet_hours import QuietHours

# beyond the provider's time-out: what a commit, a connection and a busy loop may take
MARGIN_SECONDS = 2.0
# heartbeats that may fail before hand-offs stop
MISSED_HEARTBEATS = 3
# groups of the size of what is in flight that are committed ahead, and the key window that makes it safe, in leases
GROUPS_AHEAD = 7
SAFE_WINDOW_LEASES = 20


@dataclass(frozen=True, slots=True)
class ChannelPlan:
    """One channel of the campaign, ready to send.

    `capacity`: messages that one batch has under way at most. `ahead`: rows that it may have committed as `sending`
    beyond those, so that a commit is shared by more of them. `bundle`: messages that travel in one request at most; 1
    where the provider takes one at a time.
    """

    channel: str
    provider_id: int
    provider: Provider
    template: CompiledMessage
    rules: Rules
    terms: Terms
    lease: float
    capacity: int
    ahead: int
    bundle: int
    quiet: QuietHours | None
    pacer: Pacer
    series: DeliverySeries
    provider_series: ProviderSeries
    own_quiet: bool = True  # people's own quiet hours hold: not for what they themselves have asked for
    links: Linking | None = None


def bundle_size(provider: Provider, capacity: int) -> int:
    """How many messages travel in one request at most.

    There are two requests in flight then, so that one is under way while the results of the other are committed. With
    keys each goes alone: a repeat would need the very same messages again.
    """
    if not isinstance(provider, BatchProvider) or provider.key_window is not None:
        return 1
    return max(1, min(provider.batch_size, capacity // 2))


def patience(timeout: float) -> float:
    """Seconds for which a hand-off can be under way: the provider's time-out plus a margin."""
    return timeout + MARGIN_SECONDS


def lease_length(timeout: float, heartbeat: float) -> float:
    """Seconds of a lease: three heartbeats may fail, and a hand-off that began still ends within it."""
    return patience(timeout) + MISSED_HEARTBEATS * heartbeat


def rows_ahead(capacity: int, key_window: float | None, lease: float, *, paced: bool) -> int:
    """How many rows a batch may commit ahead of its hand-offs.

    A kill leaves them in `sending`: they are repeated where the far end still knows their keys, and would be uncertain
    where it does not. Slots of a pace are for now, not for later.
    """
    if paced or key_window is None or key_window < SAFE_WINDOW_LEASES * lease:
        return 0
    return GROUPS_AHEAD * capacity


def rules_of(spec: CampaignSpec, key_window: float | None, timeout: float) -> Rules:
    """The campaign's retry settings with what its provider can do."""
    retry = spec.retry
    repeats = Repeats(
        key_window=key_window,
        patience=patience(timeout),
        resend=spec.uncertain_policy is UncertainPolicy.RESEND,
        max_attempts=retry.max_attempts,
    )
    backoff = Backoff(retry.initial_delay_seconds, retry.factor, retry.max_delay_seconds, retry.max_attempts)
    return Rules(backoff, repeats)


def fallbacks_of(channel: str, channels: list[Channel]) -> tuple[Fallback, ...]:
    """Where rows of `channel` go on that ended without success: as the schema's `ways_on` says."""
    mine = next(one for one in channels if one.channel == channel)
    root = mine.after_channel or channel
    return tuple(
        Fallback(
            other.channel,
            other.provider_id,
            mine.after_states if other.after_channel is None else other.after_states,
            usual=other.after_channel == channel,
        )
        for other in channels
        if other.channel != channel and root == (other.after_channel or other.channel)
    )


def quiet_hours_of(spec: CampaignSpec) -> QuietHours | None:
    """The campaign's quiet hours."""
    quiet = spec.schedule.quiet_hours if spec.schedule else None
    if quiet is None:
        return None
    policy = quiet.unknown_timezone_policy
    return QuietHours(
        time.fromisoformat(quiet.from_),
        time.fromisoformat(quiet.to),
        None if policy is UnknownTimezonePolicy.REJECT else quiet.default_timezone,
        guess=policy is UnknownTimezonePolicy.GUESS_FROM_PHONE,
    )


def utc_now() -> datetime:
    """The wall clock, aware."""
    return datetime.now(UTC)
