"""NotificationCampaign: messages for many recipients, each sent once."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from sendonce_store.spec.base import Bool, Int, ResourceLabel, SpecModel, list_map
from sendonce_store.spec.campaign_rules import SPEC_RULES
from sendonce_store.spec.campaign_status import CampaignStatus
from sendonce_store.spec.message_rules import MESSAGES_RULES
from sendonce_store.spec.messages import Message
from sendonce_store.spec.metadata import API_VERSION, ApiVersion, CampaignMetadata
from sendonce_store.spec.recipients import Recipients
from sendonce_store.spec.rollout import FailurePolicy, Retry, Rollout, UncertainPolicy
from sendonce_store.spec.rules import Rule, enforce
from sendonce_store.spec.schedule import FrequencyCap, Schedule
from sendonce_store.spec.workload import Workers

__all__ = ["CampaignSpec", "Category", "NotificationCampaign", "Priority"]


class Category(StrEnum):
    """What consent a campaign needs."""

    MARKETING = "Marketing"
    TRANSACTIONAL = "Transactional"


class Priority(StrEnum):
    """Which campaign has the first claim on a provider's slots."""

    LOW = "Low"
    NORMAL = "Normal"
    HIGH = "High"


def _messages_fit_together(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    return enforce(MESSAGES_RULES, messages)


class CampaignSpec(SpecModel):
    """What is sent to whom, when and how carefully."""

    send_key: ResourceLabel | None = Field(
        default=None,
        description="The campaign's identity for `never again`, unique in its namespace; default: its name. Immutable.",
    )
    category: Category = Field(
        description="Marketing (needs consent, may have quiet hours) or Transactional. Frozen once started.",
    )
    topic: ResourceLabel | None = Field(
        default=None,
        description="Topic of the category that recipients may opt out of; absent: the whole category.",
    )
    priority: Priority = Field(
        default=Priority.NORMAL, description="First claim on a provider's slots: Low, Normal or High."
    )
    suspend: Bool = Field(default=False, description="Stops hand-offs while true; what is in flight is finished.")
    cancel: Bool = Field(
        default=False,
        description="Ends the campaign: what is pending becomes cancelled. Cannot be undone.",
    )
    close: Bool = Field(
        default=False,
        description="For recipients.stream: nobody is added any more, and the campaign ends with the last delivery. "
        "Cannot be undone.",
    )
    recipients: Recipients = Field(description="Who gets the campaign. Frozen once started.")
    messages: Annotated[
        tuple[Message, ...],
        Field(min_length=1, max_length=5, json_schema_extra=list_map("channel")),
        AfterValidator(_messages_fit_together),
    ] = Field(description="What is sent, one message per channel. Frozen once started.")
    schedule: Schedule | None = Field(default=None, description="When messages may be handed off.")
    frequency_cap: FrequencyCap | None = Field(
        default=None,
        description="Most messages of this category and topic to one address, over all campaigns that have a cap.",
    )
    rollout: Rollout | None = Field(default=None, description="How the campaign is rolled out. Frozen once started.")
    retry: Retry = Field(default=Retry(), description="How often and how soon a delivery is tried again.")
    uncertain_policy: UncertainPolicy = Field(
        default=UncertainPolicy.HOLD,
        description="Outcome unknown and a repeat not safe: Hold (as uncertain) or Resend (may reach a person twice).",
    )
    failure_policy: FailurePolicy = Field(
        default=FailurePolicy(),
        description="When too many failures stop the campaign.",
    )
    workers: Workers = Field(default=Workers(), description="The workers that send it.")
    ttl_seconds_after_finished: Int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="Seconds after its end at which the object is deleted; absent: never.",
    )
    data_retention_days: Int = Field(
        default=90,
        ge=0,
        le=36_500,
        description="Days after its end for which recipients' data is kept; counts and send key stay for ever.",
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = SPEC_RULES


class NotificationCampaign(SpecModel):
    """A campaign: messages for many recipients, each of whom gets it once."""

    api_version: ApiVersion = Field(default=API_VERSION, description="sendonce.dev/v1alpha1")
    kind: Literal["NotificationCampaign"] = Field(default="NotificationCampaign", description="NotificationCampaign")
    metadata: CampaignMetadata = Field(description="Name (at most 52 characters, no dot), namespace, labels.")
    spec: CampaignSpec = Field(description="What is wished.")
    status: CampaignStatus = Field(default=CampaignStatus(), description="What is.")

    @property
    def send_key(self) -> str:
        """The send key that counts: the one given, else the name."""
        return self.spec.send_key or self.metadata.name
