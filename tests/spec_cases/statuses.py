"""A status of each kind with every field."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.spec_cases.bodies import CP, SMTP, A, C, P, action, campaign, provider

from sendonce_store.spec import (
    ActionStatus,
    CampaignStatus,
    CanaryCounts,
    Condition,
    ConditionStatus,
    DeliveryCounts,
    ErrorCount,
    ProviderError,
    ProviderStatus,
    ReceiptCounts,
    RecipientCounts,
    RolloutStage,
    RolloutStatus,
    SpecModel,
    WorkerCounts,
)

__all__ = ["STATUSES"]

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def condition(kind: str, reason: str, status: ConditionStatus = ConditionStatus.TRUE) -> Condition:
    return Condition(
        type=kind,
        status=status,
        observed_generation=2,
        last_transition_time=NOON,
        reason=reason,
        message="In a sentence.",
    )


CAMPAIGN = CampaignStatus(
    observed_generation=2,
    start_time=NOON,
    completion_time=NOON,
    estimated_completion_time=NOON,
    recipients=RecipientCounts(total=1_500_000, duplicates=1, rejected=2, unreachable=3),
    deliveries=DeliveryCounts(
        total=3_000_000_000,
        pending=1,
        sending=2,
        sent=2_999_999_982,
        failed=3,
        uncertain=4,
        suppressed=5,
        expired=2,
        cancelled=1,
    ),
    receipts=ReceiptCounts(delivered=7, bounced=8),
    rollout=RolloutStatus(stage=RolloutStage.OBSERVING, canary=CanaryCounts(total=3, sent=2, failed=1), since=NOON),
    workers=WorkerCounts(desired=2, ready=1),
    top_errors=(ErrorCount(code="550 5.1.1", count=3, message="no such user"),),
    conditions=(condition("Ready", "Sending"), condition("Complete", "InProgress", ConditionStatus.FALSE)),
)
PROVIDER = ProviderStatus(
    observed_generation=2,
    paused_until=NOON,
    last_error=ProviderError(code="429", message="slow down", time=NOON),
    conditions=(condition("Ready", "Configured"), condition("Throttled", "RateLimited")),
)
ACTION = ActionStatus(
    observed_generation=1,
    matched=5,
    changed=4,
    start_time=NOON,
    completion_time=NOON,
    conditions=(condition("Complete", "Applied"),),
)

STATUSES: list[tuple[type[SpecModel], dict[str, object], CampaignStatus | ProviderStatus | ActionStatus]] = [
    (C, campaign(), CAMPAIGN),
    (P, provider(type="SMTP", smtp=SMTP), PROVIDER),
    (CP, provider(type="SMTP", smtp=SMTP, allowedNamespaces={"from": "All"}), PROVIDER),
    (A, action(type="Retry"), ACTION),
]
