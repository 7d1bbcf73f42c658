"""What changed that a person would want to be told: the status before and the one after in, events out.

Events are for transitions only: Kubernetes does not add up the operator's, so that one per look would bury the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from sendonce_operator.decisions.conditions import FALSE, TRUE, find, is_true, reason_of
from sendonce_operator.decisions.facts import Adoption, Situation
from sendonce_operator.decisions.moments import moment
from sendonce_store.masking import clipped
from sendonce_store.spec import CampaignStatus, Category, Condition, RolloutStage

LONGEST_MESSAGE = 1000  # bytes; the API server refuses more than 1,024 characters
# a shorter pause is a provider's everyday throttling
TELLING_PAUSE = timedelta(seconds=60)
BREAKERS = frozenset({"FailureThreshold", "CanaryFailed"})
OBSERVED = frozenset({RolloutStage.OBSERVING, RolloutStage.AWAITING_PROMOTION, RolloutStage.PROMOTED})


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `type`: Normal or Warning."""

    type: str
    reason: str
    message: str


def event(kind: str, reason: str, message: str) -> Event:
    """An event whose message fits."""
    return Event(kind, reason, clipped(message, LONGEST_MESSAGE))


@dataclass(frozen=True, slots=True)
class _Change:
    situation: Situation
    old: CampaignStatus
    new: CampaignStatus

    def became(self, kind: str) -> Condition | None:
        """The condition that is true now and was not."""
        found = find(self.new.conditions, kind)
        return None if found is None or found.status is not TRUE or is_true(self.old.conditions, kind) else found

    def reason_changed(self, kind: str) -> bool:
        return reason_of(self.old.conditions, kind) != reason_of(self.new.conditions, kind)


def transitions(situation: Situation, new: CampaignStatus) -> list[Event]:
    """Events between the last status of the situation's object and `new`."""
    change = _Change(situation, situation.old, new)
    return [found for rule in _RULES for found in rule(change)]


def _accepted(c: _Change) -> Iterator[Event]:
    accepted = find(c.new.conditions, "Accepted")
    if accepted is None:
        return
    if accepted.status is FALSE and (c.reason_changed("Accepted") or find(c.old.conditions, "Accepted") is None):
        yield event("Warning", "Refused", f"{accepted.reason}: {accepted.message}")
    elif c.became("Accepted"):
        adopted = c.situation.adoption is not Adoption.NEW
        yield event("Normal", "Adopted" if adopted else "Accepted", accepted.message)
        yield from _without_deadline(c)


def _without_deadline(c: _Change) -> Iterator[Event]:
    spec, over = c.situation.spec, c.new.completion_time is not None
    if over or spec is None or spec.category is not Category.MARKETING or (spec.schedule and spec.schedule.deadline):
        return
    yield event(
        "Warning",
        "NoDeadline",
        "spec.schedule.deadline is not set: applied to a cluster with an empty store it would be sent again; set one",
    )


def _imported(c: _Change) -> Iterator[Event]:
    imported = c.became("Imported")
    if imported is None or imported.reason != "Imported":
        return
    yield event("Normal", "Imported", imported.message)
    if c.new.recipients is not None and c.new.recipients.rejected:
        words = f"{c.new.recipients.rejected} rows of the source were refused; `sendonce rejects` says why"
        yield event("Warning", "RowsRejected", words)


def _started(c: _Change) -> Iterator[Event]:
    if c.situation.adoption is Adoption.NEW and _handed_off(c.new) and not _handed_off(c.old):
        yield event("Normal", "Started", "the first messages have been handed off")


def _handed_off(status: CampaignStatus) -> bool:
    counts = status.deliveries
    return counts is not None and counts.sending + counts.sent + counts.failed + counts.uncertain > 0


def _rollout(c: _Change) -> Iterator[Event]:
    before = c.old.rollout.stage if c.old.rollout else None
    after = c.new.rollout.stage if c.new.rollout else None
    canary = c.new.rollout.canary if c.new.rollout else None
    if before is RolloutStage.CANARY and after in OBSERVED and canary is not None:
        yield event("Normal", "CanaryDone", f"{canary.sent} of {canary.total} sent, {canary.failed} failed")
    if before not in {None, RolloutStage.PROMOTED} and after is RolloutStage.PROMOTED:
        yield event("Normal", "Promoted", "the rest follows the canary")


def _suspended(c: _Change) -> Iterator[Event]:
    reason = reason_of(c.new.conditions, "Suspended")
    if c.became("Suspended") and reason in {"SpecSuspend", "Standby"}:
        yield event("Normal", "Suspended", f"{reason}: nothing is handed off")
    elif is_true(c.old.conditions, "Suspended") and not is_true(c.new.conditions, "Suspended"):
        promoted = reason_of(c.old.conditions, "Suspended") == "AwaitingPromotion"
        if c.new.completion_time is None and not promoted:
            yield event("Normal", "Resumed", "hand-off goes on")


def _stalled(c: _Change) -> Iterator[Event]:
    stalled, ended = find(c.new.conditions, "Stalled"), is_true(c.new.conditions, "Failed")
    refused = reason_of(c.new.conditions, "Accepted") == reason_of(c.new.conditions, "Stalled")
    if stalled is None or ended or refused or not c.reason_changed("Stalled"):
        return
    own = stalled.reason in BREAKERS
    yield event("Warning", stalled.reason if own else "Stalled", stalled.message if own else _worded(stalled))


def _worded(condition: Condition) -> str:
    return f"{condition.reason}: {condition.message}"


def _paused(c: _Change) -> Iterator[Event]:
    overview = c.situation.overview
    if overview is None or reason_of(c.new.conditions, "Ready") != "ProviderPaused" or not c.reason_changed("Ready"):
        return
    until = overview.provider_paused_until
    if overview.suspended_provider is not None or (until is not None and until - overview.now >= TELLING_PAUSE):
        found = find(c.new.conditions, "Ready")
        yield event("Warning", "ProviderPaused", found.message if found else "")


def _at_risk(c: _Change) -> Iterator[Event]:
    overview = c.situation.overview
    deadline = None if overview is None else overview.deadline
    eta, before = c.new.estimated_completion_time, c.old.estimated_completion_time
    if deadline is None or eta is None or eta <= deadline or (before is not None and before > deadline):
        return
    words = f"at the present pace the end is at {moment(eta)}, the deadline at {moment(deadline)}"
    yield event("Warning", "DeadlineAtRisk", f"{words}; what is left then ends as expired")


def _ended(c: _Change) -> Iterator[Event]:
    complete, failed = c.became("Complete"), c.became("Failed")
    if complete is not None and complete.reason != "AlreadySent":
        yield event("Normal", "Completed", _worded(complete))
    if failed is not None and failed.reason == "Cancelled":
        yield event("Normal", "Cancelled", failed.message)
    elif failed is not None:
        yield event("Warning", "Failed", _worded(failed))


_RULES: tuple[Callable[[_Change], Iterator[Event]], ...] = (
    _accepted,
    _imported,
    _started,
    _rollout,
    _suspended,
    _stalled,
    _paused,
    _at_risk,
    _ended,
)
