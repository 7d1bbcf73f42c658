"""What a proof says in sentences: how duplicates were counted, and what can't be known. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

__all__ = ["BASIS", "HOW_COUNTED", "Doubts", "unknowns"]

BASIS = (
    "Counted from the rows of this store. A delivery is one address on one channel; `sent` means that the provider "
    "accepted it. The provider's own records are another witness, and are not in here."
)
HOW_COUNTED = (
    "Deliveries with more than one accepted attempt. The store's unique key lets there be one delivery for each "
    "channel and address. An attempt counts as accepted when the provider said so, in time or late. Not counted: "
    "repeats with the same idempotency key within the time for which the provider remembers it: it answers without "
    "sending again."
)


@dataclass(frozen=True, slots=True)
class Doubts:
    """How much of what is not known: deliveries, but for `deleted_at`, and `acts`, which tells of orders left out."""

    deleted_at: datetime | None
    uncertain: int
    possible: int
    decided: int
    unlisted: int
    acts: bool


def unknowns(doubts: Doubts) -> Iterator[str]:
    """A sentence for each thing that can't be known, or is not listed."""
    if doubts.deleted_at is not None:
        when = doubts.deleted_at.isoformat(timespec="seconds").replace("+00:00", "Z")
        yield (
            f"The recipients' data was deleted at {when}. The totals are those of that moment; channels, reasons, "
            "hand-off times and duplicates can't be counted any more."
        )
    if doubts.uncertain:
        yield (
            f"{_deliveries(doubts.uncertain)} uncertain: handed off, and whether the provider accepted is not known. "
            "Each reached its address once or not at all, unless it is counted as possibly repeated."
        )
    if doubts.possible:
        yield (
            f"{_deliveries(doubts.possible)} possibly repeated: an attempt had no answer, and a repeat was ordered or "
            "allowed (Resend), or came after the provider's key had run out."
        )
    if doubts.decided:
        yield f"{_deliveries(doubts.decided)} sent by a person's decision (Resolve), not by a provider's answer."
    if doubts.unlisted:
        yield f"{_deliveries(doubts.unlisted)} not listed among the reasons: only the most frequent ones are."
    if doubts.acts:
        yield "Only the first orders are listed."


def _deliveries(count: int) -> str:
    return "1 delivery is" if count == 1 else f"{count} deliveries are"
