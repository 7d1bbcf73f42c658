"""What becomes of a delivery after an attempt. The far end's answer in, a `queue.Result` out; no I/O.

The rules are those of docs/state_machine.md: an attempt that may have been accepted can end only as sent or uncertain;
throttling, outages and account errors burn no attempt; what is repeated without a key was refused for certain.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from sendonce_store.rows import Reason, Repeats, Result
from sendonce_worker.metrics import Outcome
from sendonce_worker.providers.base import Accepted
from sendonce_worker.providers.errors import Kind, SendError

# a throttled row waits at least this long; the provider's pause, which all workers see, usually holds it for longer
THROTTLED_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """`spec.retry`. Times in seconds."""

    initial: float
    factor: float
    longest: float
    max_attempts: int

    def delay(self, tries: int, rng: random.Random) -> float:
        """Before attempt `tries` + 2: grows with each try, capped, plus as much again at random."""
        # the exponent is bounded, since a float overflows long after the cap has been reached
        base = min(self.longest, self.initial * self.factor ** min(tries, 64))
        return base + rng.uniform(0.0, base)


# not frozen: one for each delivery, and a frozen one takes twice as long to make
@dataclass(slots=True)
class Attempt:
    """The attempt that was made: which one, how many were used up before, and what may have come of earlier ones."""

    no: int
    seq: int
    tries: int
    maybe_accepted: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """What the campaign and its provider say about repeats."""

    backoff: Backoff
    repeats: Repeats


def accepted(attempt: Attempt, answer: Accepted) -> Result:
    """The provider took responsibility. Only an acceptance after trouble is worth an attempt's row of its own."""
    noted = "accepted" if attempt.maybe_accepted else None
    return Result(attempt.no, attempt.seq, "sent", outcome=noted, message_id=answer.message_id, error=None)


def refused_here(attempt: Attempt) -> Result:
    """The clearance said no: nothing was sent, the row is free for the next holder."""
    return Result(attempt.no, attempt.seq, "pending", delay=0.0)


def ended(attempt: Attempt, error: SendError, rules: Rules, rng: random.Random) -> Result:
    """The state after a hand-off that did not end in a known acceptance."""
    match error.kind:
        case Kind.PERMANENT:
            return _final(attempt, error, "permanent")
        case Kind.RATE_LIMITED:
            delay = max(error.retry_after or 0.0, THROTTLED_SECONDS + rng.uniform(0.0, THROTTLED_SECONDS))
            return _again(attempt, error, "rate_limited", delay, used=0)
        case Kind.ACCOUNT:
            return _again(attempt, error, "account", 0.0, used=0)
        case Kind.UNKNOWN:
            return _unknown(attempt, error, rules, rng)
        case Kind.TEMPORARY:
            return _temporary(attempt, error, rules, rng)


def _temporary(attempt: Attempt, error: SendError, rules: Rules, rng: random.Random) -> Result:
    if error.is_outage:
        # the provider's pause, which all workers see, spaces the attempts out; no recipient is at fault
        return _again(attempt, error, "outage", rng.uniform(0.0, THROTTLED_SECONDS), used=0)
    if attempt.tries + 1 >= rules.backoff.max_attempts:
        return _final(attempt, error, "retries_exhausted", outcome="temporary")
    delay = max(rules.backoff.delay(attempt.tries, rng), error.retry_after or 0.0)
    return _again(attempt, error, "temporary", delay, used=1)


def _unknown(attempt: Attempt, error: SendError, rules: Rules, rng: random.Random) -> Result:
    repeats = rules.repeats
    safe = repeats.key_window is not None or repeats.resend
    if not safe or attempt.tries + 1 >= rules.backoff.max_attempts:
        return Result(
            attempt.no, attempt.seq, "uncertain", "unknown", "unknown_outcome", error.code, error.message,
            unknown=True, used=1,
        )  # fmt: skip
    delay = max(rules.backoff.delay(attempt.tries, rng), error.retry_after or 0.0)
    if repeats.key_window is None:
        delay = max(delay, repeats.patience)  # the far end may still be busy with the first one
    return _again(attempt, error, "unknown", delay, used=1, unknown=True)


def _final(attempt: Attempt, error: SendError, reason: Reason, outcome: str = "permanent") -> Result:
    """Refused for good; after an attempt with an unknown outcome that does not prove the earlier one was not taken."""
    state = "uncertain" if attempt.maybe_accepted else "failed"
    return Result(
        attempt.no, attempt.seq, state, outcome, reason, error.code, error.message, used=1
    )  # fmt: skip


def _again(  # noqa: PLR0913 - the columns of one result
    attempt: Attempt, error: SendError, outcome: str, delay: float, *, used: int, unknown: bool = False
) -> Result:
    return Result(
        attempt.no, attempt.seq, "pending", outcome, None, error.code, error.message,
        delay=delay, unknown=unknown, used=used,
    )  # fmt: skip


def counted(result: Result) -> Outcome:
    """How a result is counted in `sendonce_deliveries_total`."""
    if result.state == "pending":
        return "rate_limited" if result.outcome == "rate_limited" else "retry"
    return counted_state(result.state)


def counted_state(state: str) -> Outcome:
    """A final state as it is counted."""
    return _COUNTED[state]


_COUNTED: dict[str, Outcome] = {
    "sent": "sent",
    "failed": "failed",
    "uncertain": "uncertain",
    "suppressed": "suppressed",
    "expired": "expired",
    "cancelled": "cancelled",
}
