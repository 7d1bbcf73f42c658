"""NotificationAction: a person's order to a campaign (retry, resolve, suppress, promote, resume), applied once."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from sendonce_store.spec.action_rules import ACTION_RULES
from sendonce_store.spec.base import ATOMIC, DnsLabel, Int, SpecModel, Timestamp
from sendonce_store.spec.channels import Channel
from sendonce_store.spec.conditions import Conditions
from sendonce_store.spec.metadata import API_VERSION, ApiVersion, Metadata
from sendonce_store.spec.rules import Rule

__all__ = [
    "ActionSpec",
    "ActionStatus",
    "ActionType",
    "CampaignRef",
    "DeadLetterState",
    "DeliveryReason",
    "DeliverySelection",
    "NotificationAction",
    "ResolveAs",
]


class ActionType(StrEnum):
    """What is ordered."""

    RETRY = "Retry"
    RESOLVE = "Resolve"
    SUPPRESS = "Suppress"
    UNSUPPRESS = "Unsuppress"
    PROMOTE = "Promote"
    RESUME = "Resume"


class DeadLetterState(StrEnum):
    """States of a delivery that a person may change."""

    FAILED = "Failed"
    EXPIRED = "Expired"
    CANCELLED = "Cancelled"
    SUPPRESSED = "Suppressed"
    UNCERTAIN = "Uncertain"


class DeliveryReason(StrEnum):
    """Why a delivery failed, or why it is not known what became of it, or why it was not tried."""

    PERMANENT = "Permanent"
    RETRIES_EXHAUSTED = "RetriesExhausted"
    RENDER_ERROR = "RenderError"
    INVALID_RECIPIENT = "InvalidRecipient"
    RESOLVED = "Resolved"
    POISON = "Poison"
    UNKNOWN_OUTCOME = "UnknownOutcome"
    RECOVERED = "Recovered"
    RESTORED = "Restored"
    KEY_WINDOW_PASSED = "KeyWindowPassed"
    REPEAT_NOT_SAFE = "RepeatNotSafe"
    CONTENT_CHANGED = "ContentChanged"
    SUPPRESSION_LIST = "SuppressionList"
    OPTED_OUT = "OptedOut"
    UNKNOWN_TIMEZONE = "UnknownTimezone"
    FREQUENCY_CAP = "FrequencyCap"
    DEADLINE = "Deadline"
    CANCELLED = "Cancelled"
    IMPORT_FAILED = "ImportFailed"
    UNEXPECTED_COUNT = "UnexpectedCount"
    TOO_MANY_REJECTED = "TooManyRejected"


class ResolveAs(StrEnum):
    """What became of uncertain deliveries, or what shall."""

    SENT = "Sent"
    FAILED = "Failed"
    RESEND = "Resend"


class CampaignRef(SpecModel):
    """A campaign of the same namespace."""

    model_config = ConfigDict(json_schema_extra=ATOMIC)

    name: Annotated[DnsLabel, Field(max_length=52)] = Field(description="Name of the campaign.")


class DeliverySelection(SpecModel):
    """Which deliveries are meant: those that match every list given."""

    states: tuple[DeadLetterState, ...] = Field(
        default=(),
        max_length=5,
        description="States; default: Failed for Retry, Uncertain for Resolve, any for Suppress and Unsuppress. A "
        "Retry of what is Suppressed asks again for consent, time zone and frequency cap.",
    )
    reasons: tuple[DeliveryReason, ...] = Field(default=(), max_length=10, description="Reasons; default: all.")
    codes: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] = Field(
        default=(),
        max_length=20,
        description="Error codes of the far end, such as 4.2.2; default: all.",
    )
    channels: tuple[Channel, ...] = Field(default=(), max_length=8, description="Channels; default: all.")
    recipients: tuple[Annotated[str, Field(min_length=1, max_length=255)], ...] = Field(
        default=(),
        max_length=100,
        description="People: each by the id that the recipients' source gives, or line:N for its line N; default: all. "
        "Not by address: this object is kept in the cluster, where others may read it.",
    )
    limit: Int | None = Field(default=None, ge=1, le=1_000_000_000, description="Change so many deliveries at most.")


class ActionSpec(SpecModel):
    """What is ordered. Immutable."""

    campaign_ref: CampaignRef = Field(description="The campaign that is meant.")
    type: ActionType = Field(
        description="Retry (dead letters), Resolve (uncertain deliveries), Suppress (write to these people no more, "
        "whatever it is about), Unsuppress (takes that back), Promote (a canary), Resume (after a stop).",
    )
    deliveries: DeliverySelection | None = Field(
        default=None, description="Which deliveries; with Retry, Resolve, Suppress and Unsuppress."
    )
    resolve_as: ResolveAs | None = Field(
        default=None,
        description="With Resolve: Sent, Failed, or Resend, which may reach a person twice.",
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = ACTION_RULES

    @property
    def effective_states(self) -> tuple[DeadLetterState, ...]:
        """The states that are meant: those given, else the default of the type; empty for the others."""
        if self.deliveries and self.deliveries.states:
            return self.deliveries.states
        defaults = {ActionType.RETRY: DeadLetterState.FAILED, ActionType.RESOLVE: DeadLetterState.UNCERTAIN}
        return (defaults[self.type],) if self.type in defaults else ()


class ActionStatus(SpecModel):
    """State of the action, written by the operator."""

    observed_generation: Int = Field(
        default=-1, ge=-1, description="Generation of the spec that this status speaks of."
    )
    matched: Int | None = Field(default=None, ge=0, description="Deliveries that matched.")
    changed: Int | None = Field(default=None, ge=0, description="Deliveries that were changed.")
    start_time: Timestamp | None = Field(default=None, description="When it was begun.")
    completion_time: Timestamp | None = Field(default=None, description="When it was done.")
    conditions: Conditions = Field(default=(), description="Conditions: Complete, Failed and Stalled.")


class NotificationAction(SpecModel):
    """An order to a campaign, applied once per campaign and name."""

    api_version: ApiVersion = Field(default=API_VERSION, description="sendonce.dev/v1alpha1")
    kind: Literal["NotificationAction"] = Field(default="NotificationAction", description="NotificationAction")
    metadata: Metadata = Field(description="Name, namespace, labels.")
    spec: ActionSpec = Field(description="What is ordered. Immutable.")
    status: ActionStatus = Field(default=ActionStatus(), description="What became of it.")
