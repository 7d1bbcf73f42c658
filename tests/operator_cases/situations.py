"""Situations of a campaign to begin from: one that sends, and how to change it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sendonce_operator.decisions.facts import Defaults, Situation, Subject, Workforce
from sendonce_operator.decisions.status import status
from sendonce_store.spec import CampaignSpec, CampaignStatus
from sendonce_store.standing import Counts, Overview

NOW = datetime(2026, 12, 4, 9, 0, tzinfo=UTC)
CREATED = NOW - timedelta(hours=1)
SPEC = CampaignSpec.from_wire(
    {
        "category": "Marketing",
        "recipients": {"configMapKeyRef": {"name": "readers", "key": "r.csv"}, "format": "CSV"},
        "messages": [
            {
                "channel": "Email",
                "providerRef": {"name": "smtp"},
                "template": {"from": "a@example.com", "subject": "s", "text": "t"},
            }
        ],
    }
)
DEFAULTS = Defaults(image="sendonce-worker:1")
SENDING = Overview(
    id=1,
    namespace="shop",
    send_key="spring",
    name="spring",
    category="Marketing",
    topic=None,
    priority=1,
    now=NOW,
    created_at=CREATED,
    started_at=CREATED + timedelta(seconds=5, microseconds=7),
    start_at=None,
    deadline=None,
    suspended=False,
    halt_reason=None,
    halt_message=None,
    cancelled=False,
    import_state="done",
    import_message=None,
    held=False,
    rollout_stage="none",
    rollout_since=None,
    total=1000,
    duplicates=3,
    rejected=2,
    unreachable=1,
    counts=Counts(pending=600, sending=100, sent=290, failed=10),
    batches=2,
    leased_batches=1,
    done_batches=0,
    due=500,
    waiting=0,
    next_due=None,
    wait_reason=None,
    wait_code=None,
    canary_total=0,
    canary_sent=0,
    canary_failed=0,
    provider_paused_until=None,
    paused_provider=None,
    pause_message=None,
    suspended_provider=None,
    workers_alive=1,
    worker_problem=None,
    ended=None,
    ended_reason=None,
    ended_message=None,
    completed_at=None,
    data_deleted_at=None,
)
IDLE: dict[str, Any] = {"counts": Counts(pending=700, sent=300), "leased_batches": 0, "due": 0}
"""Nothing under way, nothing due."""
COMPLETE: dict[str, Any] = {
    "counts": Counts(sent=990, failed=10),
    "leased_batches": 0,
    "due": 0,
    "ended": "complete",
    "ended_reason": "SomeUndelivered",
    "ended_message": "990 sent, 10 not, 1 people without an address",
    "completed_at": NOW - timedelta(minutes=5, microseconds=1),
}
SUBJECT: Subject[CampaignStatus] = Subject(
    uid="6f1c",
    namespace="shop",
    name="spring",
    generation=1,
    resource_version="7",
    created_at=CREATED,
    deleting=False,
    annotations={},
    status=None,
)
WORKING = Workforce(desired=1, ready=1)


def sending(**changes: Any) -> Overview:
    """The overview of a campaign that sends, but for these fields."""
    return replace(SENDING, **changes)


def spec(**changes: Any) -> CampaignSpec:
    """The spec with these fields on the wire."""
    return CampaignSpec.from_wire(SPEC.to_wire() | changes)


def situation(overview: Overview | None = SENDING, **changes: Any) -> Situation:
    """A first look at a campaign with a worker."""
    base = Situation(subject=SUBJECT, now=NOW, spec=SPEC, overview=overview, workforce=WORKING)
    return replace(base, **changes)


def after(before: Situation, seconds: float = 10, **changes: Any) -> Situation:
    """A later look at the same object, whose status is the one that `before` gave."""
    seen = CampaignStatus.from_wire(status(before))
    now = before.now + timedelta(seconds=seconds)
    overview = None if before.overview is None else replace(before.overview, now=now)
    later = replace(before, subject=replace(before.subject, status=seen), now=now, overview=overview)
    return replace(later, **changes)


def conditions(wire: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Type → status and reason."""
    return {condition["type"]: (condition["status"], condition["reason"]) for condition in wire["conditions"]}
