"""The form in which campaigns are given to scripts: overview in, plain data with the names of the status out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sendonce_cli.output import as_data
from sendonce_store.ledger import Outcome
from sendonce_store.standing import Counts, Overview, standing
from sendonce_worker.redaction import Redactor

__all__ = ["campaign_data", "counts_data", "top_errors"]

_TOP = 5


def counts_data(counts: Counts) -> dict[str, int]:
    """Deliveries by state, with their total."""
    shown = as_data(counts)
    return {"total": counts.total, **(shown if isinstance(shown, dict) else {})}


def campaign_data(campaign: Overview) -> dict[str, Any]:
    """A campaign as `status` gives it."""
    stands = standing(campaign)
    return {
        "name": campaign.name,
        "namespace": campaign.namespace,
        "sendKey": campaign.send_key,
        "reason": stands.reason,
        "message": stands.message,
        "stalled": stands.stalled,
        "ended": campaign.ended,
        "category": campaign.category,
        "topic": campaign.topic,
        "createdAt": as_data(campaign.created_at),
        "startTime": as_data(campaign.started_at),
        "completionTime": as_data(campaign.completed_at),
        "dataDeletedAt": as_data(campaign.data_deleted_at),
        "recipients": {
            "total": campaign.total,
            "duplicates": campaign.duplicates,
            "rejected": campaign.rejected,
            "unreachable": campaign.unreachable,
        },
        "deliveries": counts_data(campaign.counts),
    }


def top_errors(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The most frequent errors, addresses in them masked."""
    redactor = Redactor()
    found = [one for one in outcomes if one.error or one.code]
    return [
        {
            "state": one.state,
            "channel": one.channel,
            "reason": one.reason,
            "code": one.code,
            "count": one.count,
            "message": redactor.redact(one.error or ""),
        }
        for one in found[:_TOP]
    ]
