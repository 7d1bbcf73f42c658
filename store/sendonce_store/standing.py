"""How a campaign stands, in a word: its overview in, what `Ready.reason` says out; no I/O.

The words are those of the resource's conditions (Scheduled, Importing, Sending, …). `stalled` means that a person is
needed, never what passes by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

# a worker that has been silent for longer counts as gone
ALIVE_SECONDS = 60.0
# what a provider's pause holds back for no longer counts as due: no worker is sent home for it
SOON_SECONDS = 60.0
# after its creation a campaign may be without a worker for so long: they are being started
STARTING_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Deliveries by state."""

    pending: int = 0
    sending: int = 0
    sent: int = 0
    failed: int = 0
    uncertain: int = 0
    suppressed: int = 0
    expired: int = 0
    cancelled: int = 0

    @property
    def total(self) -> int:
        """All deliveries."""
        return self.pending + self.sending + self.final

    @property
    def final(self) -> int:
        """Deliveries that have ended."""
        return self.sent + self.undelivered

    @property
    def undelivered(self) -> int:
        """Deliveries that ended otherwise than as sent."""
        return self.failed + self.uncertain + self.suppressed + self.expired + self.cancelled


@dataclass(frozen=True, slots=True)
class Reports:
    """Deliveries of which the provider said later that they arrived, or that they did not. All of them are sent."""

    delivered: int = 0
    bounced: int = 0


@dataclass(frozen=True, slots=True)
class Overview:
    """A campaign at one moment (`now`, the database's), as the ledger gives it. Times are aware."""

    id: int
    namespace: str
    send_key: str
    name: str
    category: str
    topic: str | None
    priority: int
    now: datetime
    created_at: datetime
    started_at: datetime | None
    start_at: datetime | None
    deadline: datetime | None
    suspended: bool
    halt_reason: str | None
    halt_message: str | None
    cancelled: bool
    import_state: str  # pending | running | done | failed
    import_message: str | None
    held: bool
    rollout_stage: str
    rollout_since: datetime | None
    total: int  # people; lines read = total + duplicates + rejected
    duplicates: int
    rejected: int
    unreachable: int
    counts: Counts
    batches: int
    leased_batches: int
    done_batches: int
    due: int  # deliveries in batches that a worker could take now, or once a short pause of their provider is over
    waiting: int  # deliveries in batches that are due later
    next_due: datetime | None  # when a batch can be taken next; not of a provider that is suspended
    wait_reason: str | None  # of the row that is due next
    wait_code: str | None
    canary_total: int
    canary_sent: int
    canary_failed: int
    provider_paused_until: datetime | None
    paused_provider: str | None
    pause_message: str | None
    suspended_provider: str | None
    workers_alive: int
    worker_problem: str | None
    ended: str | None  # complete | failed
    ended_reason: str | None
    ended_message: str | None
    completed_at: datetime | None
    data_deleted_at: datetime | None
    stream: bool = False
    closed: bool = False  # nobody is added to the stream any more
    reports: Reports = Reports()

    @property
    def imported(self) -> bool:
        """Whether all recipients are known."""
        return self.import_state == "done"

    @property
    def idle(self) -> bool:
        """Whether nothing is under way and nothing could be taken."""
        return self.leased_batches == 0 and self.counts.sending == 0 and self.due == 0


@dataclass(frozen=True, slots=True)
class Standing:
    """The word, what it means here, and whether a person is needed."""

    reason: str
    message: str
    stalled: bool = False


def standing(campaign: Overview) -> Standing:
    """The first rule that speaks counts."""
    for rule in _RULES:
        found = rule(campaign)
        if found is not None:
            return found
    return Standing("Sending", so_far(campaign))


def so_far(c: Overview) -> str:
    """How many deliveries there are, and how many of them have ended."""
    return f"{c.counts.final} of {c.counts.total} deliveries have ended"


def _ended(c: Overview) -> Standing | None:
    if c.ended is None:
        return None
    reason = c.ended_reason or c.ended
    return Standing(reason, c.ended_message or "", stalled=c.ended == "failed" and reason != "Cancelled")


def _cancelling(c: Overview) -> Standing | None:
    return Standing("Cancelled", "cancelled by a person; what was under way is ending") if c.cancelled else None


def _halted(c: Overview) -> Standing | None:
    return None if c.halt_reason is None else Standing(c.halt_reason, c.halt_message or "", stalled=True)


def _suspended(c: Overview) -> Standing | None:
    return Standing("Suspended", "suspended by a person") if c.suspended else None


def _no_workers(c: Overview) -> Standing | None:
    if c.worker_problem is not None and c.workers_alive:
        reason, colon, message = c.worker_problem.partition(": ")
        word = reason if colon and reason.isalpha() and reason[:1].isupper() else "WorkersUnavailable"
        return Standing(word, message if word == reason else c.worker_problem, stalled=True)
    fresh = (c.now - c.created_at).total_seconds() < STARTING_SECONDS
    if c.workers_alive or fresh or c.rollout_stage == "awaiting":
        return None
    return Standing("WorkersUnavailable", "no worker is running", stalled=True)


def _importing(c: Overview) -> Standing | None:
    if c.stream or c.imported or c.counts.final or c.counts.sending:
        return None
    if c.import_message:
        return Standing("Importing", f"the recipients can't be read at present: {c.import_message}")
    return Standing("Importing", f"{c.total} recipients so far")


def _scheduled(c: Overview) -> Standing | None:
    if c.start_at is None or c.start_at <= c.now:
        return None
    return Standing("Scheduled", f"hand-off begins at {_moment(c.start_at)}")


def _rollout(c: Overview) -> Standing | None:
    canary = f"{c.canary_sent} of {c.canary_total} canary deliveries sent, {c.canary_failed} failed"
    if c.rollout_stage == "awaiting":
        return Standing("AwaitingPromotion", f"{canary}; a person lets the rest follow")
    return Standing("Observing", canary) if c.rollout_stage == "observing" else None


def _provider(c: Overview) -> Standing | None:
    if c.suspended_provider is not None and not c.counts.sending:
        return Standing("ProviderPaused", f"provider {c.suspended_provider} is suspended")
    if c.provider_paused_until is None or c.leased_batches or c.counts.sending:
        return None
    words = f": {c.pause_message}" if c.pause_message else ""
    return Standing("ProviderPaused", f"{c.paused_provider} until {_moment(c.provider_paused_until)}{words}")


def _waiting(c: Overview) -> Standing | None:
    if not c.waiting or not c.idle or c.next_due is None:
        return None
    wait = "1 delivery waits" if c.waiting == 1 else f"{c.waiting} deliveries wait"
    if c.wait_reason == "quiet_hours":
        return Standing("QuietHours", f"{wait}, the first until {_moment(c.next_due)}")
    return Standing("Retrying", f"{wait} for another attempt, the first at {_moment(c.next_due)}")


def _streaming(c: Overview) -> Standing | None:
    """Applications may add recipients at any time: a pause between two is no end."""
    if not c.stream or c.imported:
        return None
    return Standing("Streaming", f"{'closing' if c.closed else 'open'}: {so_far(c)}")


def _moment(when: datetime) -> str:
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")


_RULES: tuple[Callable[[Overview], Standing | None], ...] = (
    _ended,
    _cancelling,
    _halted,
    _suspended,
    _no_workers,
    _importing,
    _scheduled,
    _rollout,
    _provider,
    _waiting,
    _streaming,
)
