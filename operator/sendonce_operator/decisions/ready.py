"""What `Ready` says: the state of a campaign in a word and a sentence, and whether a person is needed.

Ready is True while Sendonce does what the spec says, also while it waits; Unknown while something is missing that
comes by itself (then `Reconciling` stands beside it); False when a person is needed (then `Stalled` does).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from sendonce_operator.decisions.conditions import FALSE, TRUE, UNKNOWN
from sendonce_operator.decisions.facts import Adoption, Refusal, Situation
from sendonce_operator.decisions.progress import works
from sendonce_operator.decisions.staffing import shortage
from sendonce_store.masking import mask, mask_foreign
from sendonce_store.spec import ConditionStatus
from sendonce_store.standing import Overview, standing

STANDSTILL = timedelta(minutes=15)
# of a provider's own interval between two messages, where that is long
STANDSTILL_INTERVALS = 3


@dataclass(frozen=True, slots=True)
class Ready:
    """Status, reason and message of the condition `Ready`."""

    status: ConditionStatus
    reason: str
    message: str


def ready(situation: Situation) -> Ready:
    """The first rule that speaks counts."""
    overview = situation.overview
    if situation.refusal is not None and (overview is None or overview.ended is None):
        return _refused(situation.refusal)
    if overview is None:
        return Ready(UNKNOWN, "Starting", "seen by the operator, which is making its rows")
    for rule in _RULES:
        found = rule(situation, overview)
        if found is not None:
            return found
    return _as_it_stands(overview)


def _refused(refusal: Refusal) -> Ready:
    return Ready(FALSE if refusal.stalled else UNKNOWN, refusal.reason, mask(refusal.message))


def _ended(situation: Situation, c: Overview) -> Ready | None:
    if c.ended is None:
        return None
    reason, message = c.ended_reason or c.ended, mask(c.ended_message or "")
    if c.ended == "complete":
        return _already_sent(c) if situation.adoption is Adoption.ALREADY_SENT else Ready(TRUE, reason, message)
    if situation.adoption is Adoption.ALREADY_SENT:
        message = f"{message} (before this object came); to send anew, give it another sendKey"
    return Ready(TRUE if reason == "Cancelled" else FALSE, reason, message)


def _already_sent(c: Overview) -> Ready:
    when = "" if c.completed_at is None else f" at {c.completed_at:%Y-%m-%dT%H:%M:%SZ}"
    message = (
        f"send key {c.send_key} was finished{when} ({c.ended_reason}: {mask(c.ended_message or '')}), nothing is sent"
    )
    return Ready(TRUE, "AlreadySent", f"{message}; to send anew, give it another sendKey")


def _cancelling(situation: Situation, c: Overview) -> Ready | None:
    if not is_cancelled(situation, c):
        return None
    return _short_of_workers(situation, c) or Ready(TRUE, "Cancelled", "cancelled; what was under way is ending")


def is_cancelled(situation: Situation, c: Overview) -> bool:
    """Whether a person has ended it, in the store or in the spec that the store is about to get."""
    return c.cancelled or (situation.spec is not None and situation.spec.cancel)


def _halted(_: Situation, c: Overview) -> Ready | None:
    if c.halt_reason is None:
        return None
    far_end = c.halt_reason == "CredentialsRejected"
    message = (mask_foreign if far_end else mask)(c.halt_message or "")
    return Ready(FALSE, c.halt_reason, f"{message}; to go on, apply a NotificationAction of type Resume")


def _held(situation: Situation, _: Overview) -> Ready | None:
    match situation.held_by:
        case None:
            return None
        case "Standby":
            return Ready(TRUE, "Suspended", "the operator is in mode Standby: it holds every campaign")
        case _:
            return Ready(TRUE, "Suspended", "spec.suspend is true; nothing is handed off until it is false")


def _short_of_workers(situation: Situation, c: Overview) -> Ready | None:
    found = shortage(situation, c)
    return None if found is None else Ready(FALSE if found.stalled else UNKNOWN, found.reason, found.message)


def _stands_still(situation: Situation, c: Overview) -> Ready | None:
    progress = situation.progress
    if progress is None or not works(c):
        return None
    stands = c.now - progress.moved_at
    if stands < max(STANDSTILL, _longest_interval(situation)):
        return None
    minutes = int(stands.total_seconds() // 60)
    message = (
        f"no delivery has ended for {minutes} minutes though {c.due + c.counts.sending} could; see the workers' logs"
    )
    return Ready(FALSE, "NoProgress", message)


def _longest_interval(situation: Situation) -> timedelta:
    rates = [rate for provider in situation.providers if (rate := provider.per_second) is not None]
    return timedelta(seconds=STANDSTILL_INTERVALS / min(rates)) if rates else timedelta(0)


def _as_it_stands(c: Overview) -> Ready:
    """The store's own word, but for the workers, of whom the cluster knows more."""
    masked = replace(
        c,
        workers_alive=max(c.workers_alive, 1),
        worker_problem=None,
        pause_message=mask_foreign(c.pause_message) if c.pause_message else None,
        import_message=mask(c.import_message) if c.import_message else None,
    )
    found = standing(masked)
    waits = "; the first hand-off waits for all of them" if found.reason == "Importing" and c.held else ""
    return Ready(FALSE if found.stalled else TRUE, found.reason, found.message + waits)


_RULES: tuple[Callable[[Situation, Overview], Ready | None], ...] = (
    _ended,
    _cancelling,
    _halted,
    _held,
    _short_of_workers,
    _stands_still,
)
