"""Why a delivery is where it is, in words for somebody who has never seen the ledger. Pure.

The reasons are those of docs/state_machine.md and of the statements that set them.
"""

from __future__ import annotations

from datetime import datetime

from sendonce_console.look import clock

__all__ = ["REASONS", "answer", "reason_in_words"]

REASONS = {
    "permanent": "The far end refused it for good.",
    "retries_exhausted": "The far end refused it for now each time, and all attempts are used up.",
    "render_error": "The message could not be made for this person.",
    "invalid_recipient": "The address is none that the provider can send to.",
    "resolved": "A person decided it.",
    "poison": "Workers died on its batch, again and again, so it was set aside.",
    "unknown_outcome": "It was handed over, and no answer said whether it was taken.",
    "recovered": "It was being handed over when its worker was lost; nobody recorded the answer.",
    "restored": "The store was restored from a backup and may have forgotten that it was sent.",
    "key_window_passed": "An earlier attempt may have arrived, and the far end no longer knows a repeat for one.",
    "repeat_not_safe": "An earlier attempt may have arrived, and the far end can't tell a repeat from a new message.",
    "content_changed": "An earlier attempt may have arrived, and the message would no longer be the same.",
    "suppression_list": "The address is on the suppression list.",
    "opted_out": "The person has opted out.",
    "unknown_timezone": "No time zone is known, and the campaign sends to nobody without one.",
    "frequency_cap": "The person has had as many messages as the campaign's cap allows.",
    "deadline": "The campaign's deadline passed before it could be handed over.",
    "cancelled": "The campaign was cancelled before it was handed over.",
    "import_failed": "The recipients could not be read to the end.",
    "unexpected_count": "The source had more people than expected, or fewer, and nobody was sent to.",
    "too_many_rejected": "Too many rows of the source were refused, and nobody was sent to.",
    "quiet_hours": "It is night where this person lives: it waits until the quiet hours end.",
    "rate_limited": "The far end asked to slow down.",
    "outage": "The far end could not be reached.",
}
"""Reason → a sentence."""

_STATES = {
    "pending": "It waits to be handed over.",
    "sending": "It is being handed over now.",
    "sent": "The provider accepted it.",
    "failed": "It failed.",
    "uncertain": "It may have arrived, or not: nobody knows.",
    "suppressed": "It was not sent, on purpose.",
    "expired": "It came too late to be sent.",
    "cancelled": "It was cancelled before it was sent.",
}


def reason_in_words(state: str, reason: str | None) -> str:
    """The sentence of a reason; one that is not known is shown as it is."""
    if reason is None:
        return _STATES.get(state, state)
    return REASONS.get(reason, f"Reason: {reason}.")


def answer(
    state: str, reason: str | None, *, at: datetime | None, provider: str | None, maybe_accepted: bool = False
) -> tuple[str, str]:
    """Title and sentence of the answer to "did they get it?"; what may have arrived says so."""
    when = f" on {clock(at)} UTC" if at is not None else ""
    over = f" over {provider}" if provider else ""
    match state:
        case "sent":
            return f"Sent{when}", f"The provider accepted it{over}."
        case "failed":
            doubt = " An earlier attempt may have arrived all the same." if maybe_accepted else ""
            return f"Not sent: failed{when}", reason_in_words(state, reason) + doubt
        case "uncertain":
            return f"Uncertain since {clock(at)} UTC" if at else "Uncertain", reason_in_words(state, reason)
        case "suppressed" | "expired" | "cancelled":
            return f"Not sent: {state}{when}", reason_in_words(state, reason)
        case "sending":
            return "On its way", f"It is being handed over{over} now."
        case _:
            doubt = " An earlier attempt may have arrived." if maybe_accepted else ""
            return "Not sent yet", reason_in_words("pending", reason) + doubt
