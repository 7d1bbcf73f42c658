"""What is to be done for a campaign as a whole, decided from its counts alone. Facts in, one step out; no I/O.

`conduct.py` reads the facts under the campaign's lock, asks here, does the step, and asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import ceil

from sendonce_store.rows import Reason


class Kind(Enum):
    """The steps that move a campaign."""

    RELEASE = "release"  # batches that waited for the count may go
    START_CANARY = "start_canary"
    STAGE = "stage"  # rollout stage `detail`
    PROMOTE = "promote"
    HALT = "halt"  # stop until a person resumes
    SETTLE = "settle"  # end every pending row as `detail`
    DRAIN = "drain"  # nobody is added to the stream any more: its import is done
    END = "end"


@dataclass(frozen=True, slots=True)
class Step:
    """One step with what it needs: a state, stage or outcome, its reason in a word, and a message for people."""

    kind: Kind
    detail: str = ""
    reason: str = ""
    message: str = ""
    people: int = 0


@dataclass(frozen=True, slots=True)
class Canary:
    """`rollout.canary` of the spec."""

    percent: float
    min_recipients: int
    observe_seconds: float
    max_failed_percent: float
    automatic: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """The parts of a spec that decide about the campaign as a whole. Percentages are 0 to 100."""

    expected_min: int | None
    expected_max: int | None
    max_rejected_percent: float
    canary: Canary | None
    breaker_percent: float | None  # None: Continue
    breaker_min: int


@dataclass(frozen=True, slots=True)
class Facts:
    """A campaign's counts at one moment, as the `facts` statement gives them."""

    import_state: str
    import_message: str | None
    held: bool
    rollout_stage: str
    stage_seconds: float | None
    cancelled: bool
    late: bool
    halt_reason: str | None
    ended: str | None
    total: int
    duplicates: int
    rejected: int
    unreachable: int
    base_failed: int
    base_final: int
    pending: int
    sending: int
    sent: int
    failed: int
    uncertain: int
    suppressed: int
    expired: int
    cancelled_rows: int
    open_batches: int
    canary_open: int
    canary_sent: int
    canary_failed: int
    stream: bool = False
    closed: bool = False
    inbox: bool = False  # somebody in it has not been taken yet

    @property
    def final(self) -> int:
        """Deliveries that have ended."""
        return self.sent + self.failed + self.uncertain + self.suppressed + self.expired + self.cancelled_rows


def decide(facts: Facts, policy: Policy) -> Step | None:
    """The next step, or None while nothing is to be done."""
    for rule in _RULES:
        step = rule(facts, policy)
        if step is not None:
            return step
    return None


def _cancelled(facts: Facts, _: Policy) -> Step | None:
    if not facts.cancelled or (not facts.pending and facts.import_state not in {"done", "failed"}):
        return None  # an import goes on, and its rows arrive as cancelled: the totals are to be true
    return _settle_then_fail(facts, "cancelled", "cancelled", "Cancelled", "cancelled by a person")


def _import_failed(facts: Facts, _: Policy) -> Step | None:
    if facts.import_state != "failed":
        return None
    message = facts.import_message or "the recipients can't be read"
    return _settle_then_fail(facts, "cancelled", "import_failed", "SourceUnreadable", message)


def _deadline(facts: Facts, _: Policy) -> Step | None:
    if not facts.late:
        return None
    if facts.import_state != "done" and not facts.stream:
        message = "the deadline passed before the recipients had been imported"
        return _settle_then_fail(facts, "expired", "deadline", "DeadlineBeforeImport", message)
    return _settle("expired", "deadline") if facts.pending else None


def _count(facts: Facts, policy: Policy) -> Step | None:
    if facts.import_state != "done" or not (facts.held or facts.rollout_stage == "importing"):
        return None
    problem = unexpected_count(facts, policy) or too_many_rejected(facts, policy)
    if problem is None:
        return None
    return _settle_then_fail(facts, "cancelled", _COUNT_REASONS[problem[0]], problem[0], problem[1])


# the campaign's reason, and that of its deliveries
_COUNT_REASONS: Mapping[str, Reason] = {
    "UnexpectedCount": "unexpected_count",
    "TooManyRejected": "too_many_rejected",
}


def unexpected_count(facts: Facts, policy: Policy) -> tuple[str, str] | None:
    """Reason and message when the number of people is outside `recipients.expected`."""
    low, high = policy.expected_min, policy.expected_max
    if low is not None and facts.total < low:
        return "UnexpectedCount", f"{facts.total} recipients, at least {low} expected (recipients.expected.min)"
    if high is not None and facts.total > high:
        return "UnexpectedCount", f"{facts.total} recipients, at most {high} expected (recipients.expected.max)"
    return None


def too_many_rejected(facts: Facts, policy: Policy) -> tuple[str, str] | None:
    """Reason and message when more rows were refused than `recipients.maxRejectedPercent` allows."""
    lines = facts.total + facts.duplicates + facts.rejected
    if lines == 0 or 100 * facts.rejected <= policy.max_rejected_percent * lines:
        return None
    share = f"{facts.rejected} of {lines} rows were refused"
    return (
        "TooManyRejected",
        f"{share}, at most {policy.max_rejected_percent:g} % allowed (recipients.maxRejectedPercent)",
    )


def _rollout(facts: Facts, policy: Policy) -> Step | None:
    canary = policy.canary
    if facts.import_state != "done" or facts.halt_reason is not None:
        return None
    if canary is None:
        return Step(Kind.RELEASE) if facts.held else None
    match facts.rollout_stage:
        case "importing":
            reached = max(facts.total - facts.unreachable, 0)
            people = min(reached, max(canary.min_recipients, ceil(reached * canary.percent / 100)))
            return Step(Kind.START_CANARY, people=people) if people else Step(Kind.PROMOTE)
        case "canary":
            return canary_failure(facts, canary) or (Step(Kind.STAGE, "observing") if not facts.canary_open else None)
        case "observing":
            return canary_failure(facts, canary) or _observed(facts, canary)
        case _:
            return None


def canary_failure(facts: Facts, canary: Canary) -> Step | None:
    """Halt when the canary's failures pass `maxFailedPercent` of what ended there."""
    ended = facts.canary_sent + facts.canary_failed
    if facts.canary_open or ended == 0 or 100 * facts.canary_failed <= canary.max_failed_percent * ended:
        return None
    message = (
        f"{facts.canary_failed} of {ended} canary deliveries failed, at most {canary.max_failed_percent:g} % allowed"
    )
    return Step(Kind.HALT, reason="CanaryFailed", message=message)


def _observed(facts: Facts, canary: Canary) -> Step | None:
    if (facts.stage_seconds or 0.0) < canary.observe_seconds:
        return None
    return Step(Kind.PROMOTE) if canary.automatic else Step(Kind.STAGE, "awaiting")


def _breaker(facts: Facts, policy: Policy) -> Step | None:
    if policy.breaker_percent is None or facts.halt_reason is not None:
        return None
    final, failed = facts.final - facts.base_final, facts.failed - facts.base_failed
    if final < policy.breaker_min or 100 * failed <= policy.breaker_percent * final:
        return None
    message = f"{failed} of {final} deliveries failed, at most {policy.breaker_percent:g} % allowed (failurePolicy)"
    return Step(Kind.HALT, reason="FailureThreshold", message=message)


def _complete(facts: Facts, _: Policy) -> Step | None:
    if facts.import_state != "done" or facts.open_batches or facts.pending or facts.sending:
        return None
    return Step(Kind.END, "complete", *verdict(facts))


def _drain(facts: Facts, _: Policy) -> Step | None:
    """A stream that nobody may add to any more, and whose inbox is empty, has all its recipients."""
    over = facts.closed or facts.cancelled or facts.late
    if not facts.stream or not over or facts.inbox or facts.import_state not in {"pending", "running"}:
        return None
    return Step(Kind.DRAIN)


def verdict(facts: Facts) -> tuple[str, str]:
    """Reason and message of a campaign in which every row is final."""
    if facts.total == 0:
        lines = facts.duplicates + facts.rejected
        return "AllSent", f"nothing to send: the source had {lines} rows and no recipient among them"
    undelivered = facts.final - facts.sent
    if undelivered or facts.unreachable:
        message = f"{facts.sent} sent, {undelivered} not, {facts.unreachable} people without an address"
        return "SomeUndelivered", message
    return "AllSent", f"{facts.sent} sent"


def _settle_then_fail(facts: Facts, state: str, row_reason: Reason, reason: str, message: str) -> Step | None:
    if facts.pending:
        return _settle(state, row_reason)
    if facts.open_batches or facts.sending:
        return None
    return Step(Kind.END, "failed", reason, message)


def _settle(state: str, reason: Reason) -> Step:
    return Step(Kind.SETTLE, state, reason)


_RULES: tuple[Callable[[Facts, Policy], Step | None], ...] = (
    _cancelled,
    _import_failed,
    _count,
    _deadline,
    _complete,
    _rollout,
    _breaker,
    _drain,
)
