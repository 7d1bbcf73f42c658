"""A campaign's whole status: a situation in, the object on the wire out, below 8 KiB always.

What was not read this time (the store can't be reached, say) is taken from the last status, and an end that was once
reached is not taken back because of something that passes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sendonce_operator.decisions.claims import claims
from sendonce_operator.decisions.conditions import conditions
from sendonce_operator.decisions.estimate import estimate
from sendonce_operator.decisions.facts import FarEndError, Situation
from sendonce_operator.decisions.moments import whole_seconds
from sendonce_store.masking import clipped, mask_foreign
from sendonce_store.spec import (
    CampaignStatus,
    CanaryCounts,
    DeliveryCounts,
    ErrorCount,
    ReceiptCounts,
    RecipientCounts,
    RolloutStage,
    RolloutStatus,
    WorkerCounts,
)
from sendonce_store.standing import Overview

MOST_BYTES = 8 * 1024
# bytes of a condition's message, and of an error's; shorter ones are tried until the status fits
LENGTHS = ((512, 256), (256, 128), (128, 64), (64, 32))
MOST_ERRORS = 5
LONGEST_CODE = 64
STAGES = {
    "importing": RolloutStage.IMPORTING,
    "canary": RolloutStage.CANARY,
    "observing": RolloutStage.OBSERVING,
    "awaiting": RolloutStage.AWAITING_PROMOTION,
    "promoted": RolloutStage.PROMOTED,
}
# what a status says of rows that are not, or no longer, this object's
_NOT_OURS = frozenset({"SendKeyConflict", "LedgerMissing"})


def status(situation: Situation) -> dict[str, Any]:
    """The status on the wire; absent fields are left out (`patching.merge_patch` names those that went away)."""
    if _keeps_its_end(situation):
        return situation.old.to_wire()
    wire: dict[str, Any] = {}
    for longest, longest_error in LENGTHS:
        wire = _status(situation, longest, longest_error).to_wire()
        if size(wire) <= MOST_BYTES:
            break
    return wire


def size(wire: object) -> int:
    """Bytes as the API server stores it: it also escapes `<`, `>` and `&`, to six bytes each."""
    text = json.dumps(wire, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode()) + 5 * sum(text.count(char) for char in "<>&")


def _keeps_its_end(situation: Situation) -> bool:
    """Whether it was over when it was last seen, and nothing that was read says otherwise."""
    refusal = situation.refusal
    if situation.overview is not None or situation.old.completion_time is None or refusal is None:
        return False
    return not refusal.stalled or refusal.reason == "LedgerMissing"


def _status(situation: Situation, longest: int, longest_error: int) -> CampaignStatus:
    old, generation, c = situation.old, situation.subject.generation, situation.overview
    known = _read(situation, c) if c is not None else _remembered(situation)
    return known.model_copy(
        update={
            "observed_generation": generation,
            "workers": _workers(situation),
            "top_errors": _top_errors(situation.errors, old, longest_error),
            "receipts": _receipts(c) if c is not None else old.receipts,
            "estimated_completion_time": estimate(situation),
            "conditions": conditions(claims(situation), old.conditions, generation, situation.now, longest),
        }
    )


def _read(situation: Situation, c: Overview) -> CampaignStatus:
    counts = c.counts
    return CampaignStatus(
        start_time=situation.old.start_time or whole_seconds(c.started_at),
        completion_time=whole_seconds(c.completed_at),
        recipients=RecipientCounts(
            total=c.total, duplicates=c.duplicates, rejected=c.rejected, unreachable=c.unreachable
        ),
        deliveries=DeliveryCounts(
            total=counts.total,
            pending=counts.pending,
            sending=counts.sending,
            sent=counts.sent,
            failed=counts.failed,
            uncertain=counts.uncertain,
            suppressed=counts.suppressed,
            expired=counts.expired,
            cancelled=counts.cancelled,
        ),
        rollout=_rollout(c),
    )


def _remembered(situation: Situation) -> CampaignStatus:
    old, refusal = situation.old, situation.refusal
    if refusal is not None and refusal.reason in _NOT_OURS:
        return CampaignStatus(start_time=old.start_time)
    return old


def _receipts(c: Overview) -> ReceiptCounts | None:
    """What providers reported; nothing where none of them reports."""
    told = c.reports
    return ReceiptCounts(delivered=told.delivered, bounced=told.bounced) if told.delivered or told.bounced else None


def _rollout(c: Overview) -> RolloutStatus | None:
    stage = STAGES.get(c.rollout_stage)
    if stage is None:
        return None
    canary = CanaryCounts(total=c.canary_total, sent=c.canary_sent, failed=c.canary_failed)
    return RolloutStatus(stage=stage, canary=canary, since=whole_seconds(c.rollout_since))


def _workers(situation: Situation) -> WorkerCounts | None:
    force = situation.workforce
    return situation.old.workers if force is None else WorkerCounts(desired=force.desired, ready=force.ready)


def _top_errors(errors: Sequence[FarEndError] | None, old: CampaignStatus, longest: int) -> tuple[ErrorCount, ...]:
    """The most frequent errors, by code; where two are as frequent, in the order of their codes."""
    if errors is None:
        return tuple(error.model_copy(update={"message": clipped(error.message, longest)}) for error in old.top_errors)
    counts: dict[str, int] = {}
    words: dict[str, str] = {}
    for error in sorted(errors, key=lambda each: -each.count):
        code = clipped(mask_foreign(error.code or error.reason or "unknown"), LONGEST_CODE)
        counts[code] = counts.get(code, 0) + error.count
        words.setdefault(code, clipped(mask_foreign(error.message or ""), longest))
    first = sorted(counts, key=lambda code: (-counts[code], code))[:MOST_ERRORS]
    return tuple(ErrorCount(code=code, count=counts[code], message=words[code]) for code in first)
