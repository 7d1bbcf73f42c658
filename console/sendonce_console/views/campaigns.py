"""Rows of the list of campaigns: overviews, records and what ended lately in, what the list shows out. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from sendonce_console.views.pace import Pace, pace_of
from sendonce_store.console_campaigns import Recent, Record
from sendonce_store.standing import Counts, Overview, Standing, standing

REASONS = (
    "Importing", "Scheduled", "Sending", "QuietHours", "ProviderPaused", "Observing", "AwaitingPromotion", "Suspended",
    "Retrying", "AllSent", "SomeUndelivered", "Cancelled", "FailureThreshold", "CanaryFailed", "SourceUnreadable",
    "UnexpectedCount", "TooManyRejected", "CredentialsRejected", "WorkersUnavailable", "SecretNotFound",
    "DeadlineBeforeImport",
)  # fmt: skip
"""What the list can be narrowed to: `Ready.reason`, in the order of a campaign's life, then what needs a person."""


@dataclass(frozen=True, slots=True)
class Row:
    """One campaign. `counts`: state → number of deliveries."""

    campaign: Overview
    stands: Standing
    counts: Mapping[str, int]
    pace: Pace | None
    applied_by: str | None


def counts_of(counts: Counts) -> dict[str, int]:
    """Deliveries by state."""
    return {field.name: getattr(counts, field.name) for field in fields(counts)}


def rows_of(campaigns: Sequence[Overview], records: Mapping[int, Record], recent: Sequence[Recent]) -> Sequence[Row]:
    """In the order of the campaigns."""
    return [
        Row(one, standing(one), counts_of(one.counts), pace_of(one, recent), record.applied_by if record else None)
        for one in campaigns
        for record in [records.get(one.id)]
    ]
