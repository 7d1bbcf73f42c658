"""`status` of a NotificationCampaign: what a person sees of it; below 8 KiB always."""

from enum import StrEnum

from pydantic import Field

from sendonce_store.spec.base import Int, SpecModel, Timestamp
from sendonce_store.spec.conditions import Conditions

__all__ = [
    "CampaignStatus",
    "CanaryCounts",
    "DeliveryCounts",
    "ErrorCount",
    "ReceiptCounts",
    "RecipientCounts",
    "RolloutStage",
    "RolloutStatus",
    "WorkerCounts",
]


class RecipientCounts(SpecModel):
    """People. Lines read = total + duplicates + rejected."""

    total: Int = Field(default=0, ge=0, description="Recipients of the campaign.")
    duplicates: Int = Field(default=0, ge=0, description="Lines whose addresses an earlier line had.")
    rejected: Int = Field(default=0, ge=0, description="Lines that were refused.")
    unreachable: Int = Field(default=0, ge=0, description="Recipients without an address for any channel.")


class DeliveryCounts(SpecModel):
    """Deliveries by state; the states add up to the total."""

    total: Int = Field(default=0, ge=0, description="All deliveries.")
    pending: Int = Field(default=0, ge=0, description="Not yet handed off, or to be tried again.")
    sending: Int = Field(default=0, ge=0, description="Being handed off.")
    sent: Int = Field(default=0, ge=0, description="Accepted by the provider.")
    failed: Int = Field(default=0, ge=0, description="Not accepted, and not tried again.")
    uncertain: Int = Field(default=0, ge=0, description="Handed off; the outcome is unknown and a repeat is not safe.")
    suppressed: Int = Field(default=0, ge=0, description="Not sent: opted out, suppressed, or no known time zone.")
    expired: Int = Field(default=0, ge=0, description="Not sent before the deadline.")
    cancelled: Int = Field(default=0, ge=0, description="Not sent: the campaign was cancelled.")


class ReceiptCounts(SpecModel):
    """What providers reported later; not part of the sum of deliveries."""

    delivered: Int = Field(default=0, ge=0, description="Reported as delivered.")
    bounced: Int = Field(default=0, ge=0, description="Reported as bounced.")


class CanaryCounts(SpecModel):
    """Deliveries of the canary."""

    total: Int = Field(default=0, ge=0, description="Deliveries of the canary.")
    sent: Int = Field(default=0, ge=0, description="Those that were sent.")
    failed: Int = Field(default=0, ge=0, description="Those that failed.")


class RolloutStage(StrEnum):
    """How far a rollout is."""

    IMPORTING = "Importing"
    CANARY = "Canary"
    OBSERVING = "Observing"
    AWAITING_PROMOTION = "AwaitingPromotion"
    PROMOTED = "Promoted"


class RolloutStatus(SpecModel):
    """State of the rollout."""

    stage: RolloutStage = Field(description="Importing, Canary, Observing, AwaitingPromotion or Promoted.")
    canary: CanaryCounts | None = Field(default=None, description="Deliveries of the canary.")
    since: Timestamp | None = Field(default=None, description="When the stage began.")


class WorkerCounts(SpecModel):
    """Worker Pods."""

    desired: Int = Field(default=0, ge=0, description="Wanted.")
    ready: Int = Field(default=0, ge=0, description="Ready.")


class ErrorCount(SpecModel):
    """One kind of error and how often it was met; addresses are masked."""

    code: str = Field(max_length=64, description="Code of the error, such as 550 5.1.1.")
    count: Int = Field(ge=0, description="Deliveries that ended with it.")
    message: str = Field(default="", max_length=512, description="The far end's words, addresses masked.")


class CampaignStatus(SpecModel):
    """State of the campaign, written by the operator."""

    observed_generation: Int = Field(
        default=-1, ge=-1, description="Generation of the spec that this status speaks of."
    )
    start_time: Timestamp | None = Field(
        default=None, description="When the import began; from then the content is frozen."
    )
    completion_time: Timestamp | None = Field(default=None, description="When the campaign was complete or failed.")
    estimated_completion_time: Timestamp | None = Field(default=None, description="Estimated end, to the minute.")
    recipients: RecipientCounts | None = Field(default=None, description="People.")
    deliveries: DeliveryCounts | None = Field(default=None, description="Deliveries by state.")
    receipts: ReceiptCounts | None = Field(default=None, description="What providers reported later.")
    rollout: RolloutStatus | None = Field(default=None, description="State of the rollout.")
    workers: WorkerCounts | None = Field(default=None, description="Worker Pods.")
    top_errors: tuple[ErrorCount, ...] = Field(default=(), max_length=5, description="The most frequent errors.")
    conditions: Conditions = Field(default=(), description="Conditions, one per type.")
