"""The conditions of a campaign before they have times: a situation in, claims out, in the order of the list.

Always there: Ready, Accepted, Imported, Suspended, Complete, Failed. Reconciling and Stalled are there only while they
hold, and never both: for kstatus the first of them in the list counts.
"""

from __future__ import annotations

from sendonce_operator.decisions.conditions import FALSE, TRUE, UNKNOWN, Claim, find, reason_of
from sendonce_operator.decisions.facts import Adoption, Situation
from sendonce_operator.decisions.ready import Ready, is_cancelled, ready
from sendonce_store.masking import mask
from sendonce_store.standing import Overview

COUNT_REASONS = ("UnexpectedCount", "TooManyRejected")


def claims(situation: Situation) -> list[Claim]:
    """All conditions of the campaign."""
    word = ready(situation)
    rest = _unread(situation) if situation.overview is None else _read(situation, situation.overview)
    return [Claim("Ready", word.status, word.reason, word.message), *_kept_from(word), _accepted(situation), *rest]


def _kept_from(word: Ready) -> list[Claim]:
    """What tools that know nothing of campaigns look at (kstatus, Argo CD)."""
    if word.status is TRUE:
        return []
    return [Claim("Reconciling" if word.status is UNKNOWN else "Stalled", TRUE, word.reason, word.message)]


def _accepted(situation: Situation) -> Claim:
    refusal, overview = situation.refusal, situation.overview
    if refusal is not None and refusal.stalled and (overview is None or overview.ended is None):
        return Claim("Accepted", FALSE, refusal.reason, mask(refusal.message))
    if overview is not None:
        return Claim("Accepted", TRUE, "Accepted", _ACCEPTED[situation.adoption])
    return _kept(situation, Claim("Accepted", UNKNOWN, "Starting", ""))


_ACCEPTED = {
    Adoption.NEW: "the campaign has its rows",
    Adoption.CONTINUED: "the campaign has its rows; it was begun by another object and goes on",
    Adoption.ALREADY_SENT: "the campaign was begun by another object and had ended before this one came",
}


def _unread(situation: Situation) -> list[Claim]:
    """Nothing is known of the rows: what was said last still stands."""
    return [
        _kept(situation, Claim("Imported", FALSE, "NotStarted", "")),
        _kept(situation, Claim("Suspended", FALSE, "Active", "")),
        _kept(situation, Claim("Complete", FALSE, "InProgress", "")),
        _kept(situation, Claim("Failed", FALSE, "NotFailed", "")),
    ]


def _kept(situation: Situation, otherwise: Claim) -> Claim:
    old = find(situation.old.conditions, otherwise.type)
    return otherwise if old is None else Claim(old.type, old.status, old.reason, old.message)


def _read(situation: Situation, c: Overview) -> list[Claim]:
    return [_imported(situation, c), _suspended(situation, c), _complete(situation, c), _failed(c)]


def _imported(situation: Situation, c: Overview) -> Claim:
    counts = (
        f"{c.total} recipients, {c.duplicates} duplicates, {c.rejected} rejected, {c.unreachable} without an address"
    )
    if c.ended == "complete" and situation.adoption is Adoption.ALREADY_SENT:
        return Claim("Imported", TRUE, "AlreadySent", counts)
    if c.ended_reason in COUNT_REASONS:
        return Claim("Imported", FALSE, c.ended_reason, mask(c.ended_message or ""))
    if c.import_state == "failed" or c.ended_reason == "SourceUnreadable":
        return Claim("Imported", FALSE, "SourceUnreadable", mask(c.import_message or ""))
    if c.imported:
        return Claim("Imported", TRUE, "Imported", counts)
    return _importing(c)


def _importing(c: Overview) -> Claim:
    if c.stream:
        return Claim("Imported", FALSE, "Streaming", f"{c.total} recipients so far, {c.rejected} rejected")
    if c.import_state == "pending":
        return Claim("Imported", FALSE, "NotStarted", mask(c.import_message or ""))
    return Claim("Imported", FALSE, "Importing", f"{c.total} recipients so far")


def _suspended(situation: Situation, c: Overview) -> Claim:
    if c.ended is not None or is_cancelled(situation, c):
        return Claim("Suspended", FALSE, "Active", "")
    if situation.held_by is not None:
        return Claim("Suspended", TRUE, situation.held_by, "nothing is handed off")
    if c.halt_reason is not None:
        return Claim("Suspended", TRUE, c.halt_reason, "until a NotificationAction of type Resume")
    if c.rollout_stage == "awaiting":
        return Claim("Suspended", TRUE, "AwaitingPromotion", "until a NotificationAction of type Promote")
    return Claim("Suspended", FALSE, "Active", "")


def _complete(situation: Situation, c: Overview) -> Claim:
    if c.ended == "complete":
        adopted = situation.adoption is Adoption.ALREADY_SENT
        reason = "AlreadySent" if adopted else c.ended_reason or "AllSent"
        return Claim("Complete", TRUE, reason, mask(c.ended_message or ""))
    if c.ended is not None:
        return Claim("Complete", FALSE, "Failed", "it ended before every recipient had a chance")
    return Claim("Complete", FALSE, "Retrying" if _reopened(situation) else "InProgress", _so_far(c))


def _reopened(situation: Situation) -> bool:
    """Whether it had ended before: an action has taken it up again."""
    old = situation.old
    return old.completion_time is not None or reason_of(old.conditions, "Complete") == "Retrying"


def _so_far(c: Overview) -> str:
    return f"{c.counts.final} of {c.counts.total} deliveries have ended"


def _failed(c: Overview) -> Claim:
    if c.ended == "failed":
        return Claim("Failed", TRUE, c.ended_reason or "Failed", mask(c.ended_message or ""))
    return Claim("Failed", FALSE, "NotFailed", "")
