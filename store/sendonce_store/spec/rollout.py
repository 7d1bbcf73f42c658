"""`spec.rollout`, `spec.retry` and `spec.failurePolicy`: how carefully a campaign goes ahead."""

from enum import StrEnum
from typing import Any, ClassVar

from pydantic import Field

from sendonce_store.spec.base import Int, SpecModel
from sendonce_store.spec.campaign_rules import RETRY_RULES
from sendonce_store.spec.rules import Rule

__all__ = ["Canary", "FailureAction", "FailurePolicy", "Promotion", "Retry", "Rollout", "UncertainPolicy"]


class Promotion(StrEnum):
    """Who lets the rest go after a canary."""

    MANUAL = "Manual"
    AUTOMATIC = "Automatic"


class Canary(SpecModel):
    """A first share of the recipients, chosen by the hash of the delivery key."""

    percent: Int = Field(default=1, ge=1, le=99, description="Percentage of the recipients that is sent first.")
    min_recipients: Int = Field(
        default=100, ge=1, le=1_000_000, description="Least number of recipients in the canary."
    )
    observe_seconds: Int = Field(
        default=900, ge=0, le=604_800, description="Seconds to watch after the canary was sent."
    )
    max_failed_percent: Int = Field(
        default=5,
        ge=0,
        le=100,
        description="Percentage of failed canary deliveries above which the campaign stops.",
    )
    promotion: Promotion = Field(
        default=Promotion.MANUAL,
        description="Manual: a NotificationAction of type Promote lets the rest go; Automatic: a good canary does.",
    )


class Rollout(SpecModel):
    """How the campaign is rolled out."""

    canary: Canary | None = Field(default=None, description="Send to a small share first.")


class Retry(SpecModel):
    """How often and how soon a delivery is tried again.

    The delay is min(maxDelaySeconds, initialDelaySeconds · factor^attempt), plus as much again at random.
    """

    max_attempts: Int = Field(default=5, ge=1, le=50, description="Attempts in all, the first one included.")
    initial_delay_seconds: Int = Field(default=30, ge=1, le=86_400, description="Seconds before the second attempt.")
    factor: Int = Field(default=4, ge=1, le=100, description="Each delay is this many times the one before.")
    max_delay_seconds: Int = Field(
        default=600, ge=1, le=604_800, description="Greatest delay in seconds, before the jitter."
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = RETRY_RULES


class UncertainPolicy(StrEnum):
    """What becomes of a delivery whose outcome is unknown and whose repeat is not safe."""

    HOLD = "Hold"
    RESEND = "Resend"


class FailureAction(StrEnum):
    """What too many failures do."""

    SUSPEND = "Suspend"
    CONTINUE = "Continue"


class FailurePolicy(SpecModel):
    """The breaker: stops a campaign that fails too often."""

    max_failed_percent: Int = Field(
        default=50,
        ge=0,
        le=100,
        description="Percentage failed ÷ final above which the breaker trips, since the start or the last Resume.",
    )
    min_deliveries: Int = Field(
        default=100,
        ge=1,
        le=1_000_000_000,
        description="Final deliveries before the breaker may trip.",
    )
    action: FailureAction = Field(
        default=FailureAction.SUSPEND,
        description="Suspend (until a NotificationAction of type Resume) or Continue.",
    )
