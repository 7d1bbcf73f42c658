"""Conditions as the Kubernetes API conventions have them: claims in, the whole list out.

A list is always written whole, because a merge patch replaces lists. `lastTransitionTime` moves only when a status
flips, never when a reason or a message changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sendonce_store.masking import clipped
from sendonce_store.spec import Condition, ConditionStatus

TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN


@dataclass(frozen=True, slots=True)
class Claim:
    """One condition before it has a time."""

    type: str
    status: ConditionStatus
    reason: str
    message: str = ""


def conditions(
    claims: Iterable[Claim], old: Sequence[Condition], generation: int, now: datetime, longest: int = 512
) -> tuple[Condition, ...]:
    """The list, in the order of the claims; messages are cut to `longest` bytes."""
    known = {condition.type: condition for condition in old}
    return tuple(_condition(claim, known.get(claim.type), generation, now, longest) for claim in claims)


def _condition(claim: Claim, old: Condition | None, generation: int, now: datetime, longest: int) -> Condition:
    stays = old is not None and old.status is claim.status
    return Condition(
        type=claim.type,
        status=claim.status,
        observed_generation=generation,
        last_transition_time=old.last_transition_time if old is not None and stays else now,
        reason=claim.reason,
        message=clipped(claim.message, longest),
    )


def find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """The condition of a type."""
    return next((condition for condition in conditions if condition.type == kind), None)


def is_true(conditions: Sequence[Condition], kind: str) -> bool:
    """Whether a condition is there and holds."""
    found = find(conditions, kind)
    return found is not None and found.status is TRUE


def reason_of(conditions: Sequence[Condition], kind: str) -> str | None:
    """The reason of a condition; None where it is not there."""
    found = find(conditions, kind)
    return None if found is None else found.reason
