"""The status of an action, and the order that it gives to the store: facts in, plain data out.

An action is applied once per campaign and name, so that it has one end: Complete, or Failed where it can never be
applied. Failed sets Stalled as well, or tools that know nothing of actions would take it for done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sendonce_operator.decisions.conditions import FALSE, TRUE, Claim, conditions, find, is_true, reason_of
from sendonce_operator.decisions.events import Event, event
from sendonce_operator.decisions.facts import Refusal, Subject
from sendonce_store.actions import Applied
from sendonce_store.masking import mask
from sendonce_store.spec import ActionSpec, ActionStatus, ActionType, CampaignStatus, ResolveAs
from sendonce_store.standing import Overview

REQUESTED_BY = "sendonce.dev/requested-by"
"""Annotation: for whom a console made the action."""
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class ActionSituation:
    """All that an action's status is made from.

    `applied`: what it did, once it is done. `refused`: why it can never be applied (the store's ActionError).
    `refusal`: why it can't be applied now (InvalidSpec, a campaign that is not there, StoreUnavailable). With none of
    them it is being applied.
    """

    subject: Subject[ActionStatus]
    now: datetime
    applied: Applied | None = None
    refused: str | None = None
    refusal: Refusal | None = None

    @property
    def old(self) -> ActionStatus:
        """The status as last seen; an empty one where there was none."""
        return self.subject.status or ActionStatus()


def action_status(situation: ActionSituation) -> dict[str, Any]:
    """The status on the wire; absent fields are left out. An end that was reached stays as it is."""
    old, generation, applied = situation.old, situation.subject.generation, situation.applied
    if is_over(old):
        return old.to_wire()
    over = applied is not None or situation.refused is not None
    begun = over or situation.refusal is None
    return ActionStatus(
        observed_generation=generation,
        matched=applied.matched if applied else None,
        changed=applied.changed if applied else None,
        start_time=old.start_time or (situation.now if begun else None),
        completion_time=situation.now if over else None,
        conditions=conditions(_claims(situation), old.conditions, generation, situation.now),
    ).to_wire()


def early(spec: ActionSpec, overview: Overview | None) -> Refusal | None:
    """A Promote that was applied together with its campaign waits for the canary.

    It is applied once: before the canary was sent it would do nothing for ever, or make the canary one of nobody.
    """
    if spec.type is not ActionType.PROMOTE:
        return None
    if overview is None:
        return Refusal("Starting", "the campaign is being looked at", stalled=False)
    is_sending = overview.rollout_stage == "canary" and overview.halt_reason is None
    if overview.ended is not None or not (is_sending or overview.rollout_stage == "importing"):
        return None
    return Refusal("WaitingForCanary", "the canary is not sent yet; the rest follows as soon as it is", stalled=False)


def ledger_missing_since(campaign: Subject[CampaignStatus]) -> datetime | None:
    """Since when the campaign's object says that a person is needed because no store has its record; None: it does not.

    One that has ended keeps saying so: whoever wants it sent all the same orders that after the end.
    """
    status = campaign.status
    if status is None or status.completion_time is not None:
        return None if status is None else status.completion_time
    stalled = find(status.conditions, "Stalled")
    return stalled.last_transition_time if stalled is not None and stalled.reason == "LedgerMissing" else None


def sends_again(spec: ActionSpec) -> bool:
    """Whether it opens deliveries that had ended."""
    return spec.type is ActionType.RETRY or spec.resolve_as is ResolveAs.RESEND


def is_over(status: ActionStatus | None) -> bool:
    """Whether it was applied, or refused for good: it is not looked at again."""
    return status is not None and status.completion_time is not None


def _claims(situation: ActionSituation) -> Iterator[Claim]:
    refused, refusal = situation.refused, situation.refusal
    if situation.applied is not None:
        yield Claim("Complete", TRUE, "Applied", mask(situation.applied.message))
        yield Claim("Failed", FALSE, "NotFailed")
    elif refused is not None:
        yield Claim("Stalled", TRUE, "NotApplicable", mask(refused))
        yield Claim("Complete", FALSE, "Failed")
        yield Claim("Failed", TRUE, "NotApplicable", mask(refused))
    else:
        reason, message = (refusal.reason, mask(refusal.message)) if refusal else ("InProgress", "being applied")
        stalled = refusal is not None and refusal.stalled
        yield Claim("Stalled" if stalled else "Reconciling", TRUE, reason, message)
        yield Claim("Complete", FALSE, reason, message)
        yield Claim("Failed", FALSE, "NotFailed")


def requester(subject: Subject[ActionStatus]) -> str | None:
    """Who ordered it, as whoever made the object says; its own creator is known to the cluster's audit log alone."""
    found = subject.annotations.get(REQUESTED_BY, "").strip()
    return found[:_LONGEST_NAME] or None


def action_events(old: ActionStatus | None, new: ActionStatus) -> list[Event]:
    """Events between two statuses of an action, for the action; `applied_event` is for its campaign."""
    return list(_events(old or ActionStatus(), new))


def _events(old: ActionStatus, new: ActionStatus) -> Iterator[Event]:
    complete, stalled = find(new.conditions, "Complete"), find(new.conditions, "Stalled")
    if complete is not None and complete.status is TRUE and not is_true(old.conditions, "Complete"):
        yield event("Normal", "ActionApplied", complete.message)
    if stalled is not None and reason_of(old.conditions, "Stalled") != stalled.reason:
        failed = is_true(new.conditions, "Failed")
        yield event("Warning", "Failed" if failed else "Stalled", f"{stalled.reason}: {stalled.message}")


def applied_event(name: str, spec: ActionSpec, message: str) -> Event:
    """What the campaign's own events say of an action that was applied to it."""
    return event("Normal", "ActionApplied", f"{spec.type} {name}: {message}")
