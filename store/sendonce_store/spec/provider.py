"""NotificationProvider and ClusterNotificationProvider: an endpoint that takes messages, its pace and its errors."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from sendonce_store.spec.base import Bool, Int, SpecModel, Timestamp
from sendonce_store.spec.channels import ProviderType
from sendonce_store.spec.conditions import Conditions
from sendonce_store.spec.http_provider import HttpProvider
from sendonce_store.spec.metadata import API_VERSION, ApiVersion, ClusterMetadata, Metadata, SecretRef
from sendonce_store.spec.namespaces import AllowedNamespaces
from sendonce_store.spec.provider_rules import PROVIDER_RULES
from sendonce_store.spec.rules import Rule
from sendonce_store.spec.smtp_provider import SmtpProvider, TwilioProvider

__all__ = [
    "ClusterNotificationProvider",
    "ClusterProviderSpec",
    "Limit",
    "NotificationProvider",
    "ProviderError",
    "ProviderSpec",
    "ProviderStatus",
]


class Limit(SpecModel):
    """A pace: so many messages per period, over all workers and campaigns that use the provider."""

    messages: Int = Field(ge=1, le=2**31 - 1, description="Messages per period.")
    period_seconds: Int = Field(ge=1, le=2_678_400, description="Length of the period in seconds.")
    burst: Int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="Messages that may go at once after a pause; default: messages.",
    )

    @property
    def effective_burst(self) -> int:
        """The burst that counts: the one given, else `messages`."""
        return self.messages if self.burst is None else self.burst


class ProviderSpec(SpecModel):
    """How to reach the far end, and how fast it may be used."""

    type: ProviderType = Field(description="HTTP, SMTP or Twilio. Immutable.")
    suspend: Bool = Field(default=False, description="Stops every campaign that uses the provider while true.")
    http: HttpProvider | None = Field(default=None, description="Settings of the type HTTP.")
    smtp: SmtpProvider | None = Field(default=None, description="Settings of the type SMTP.")
    twilio: TwilioProvider | None = Field(default=None, description="Settings of the type Twilio.")
    credentials_secret_ref: SecretRef | None = Field(
        default=None,
        description="Secret with the credentials, looked up in the campaign's namespace. "
        "HTTP: each key can be used in header templates as `{{ secret.NAME }}`. SMTP: username, password.",
    )
    limits: tuple[Limit, ...] = Field(default=(), max_length=5, description="Paces; all of them hold.")
    max_in_flight: Int = Field(
        default=64, ge=1, le=10_000, description="Messages that one worker has in flight at most."
    )
    timeout_seconds: Int = Field(
        default=30, ge=1, le=600, description="Seconds for one hand-off in all, connecting included."
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = PROVIDER_RULES


class ClusterProviderSpec(ProviderSpec):
    """As for a NotificationProvider, and which namespaces may use it."""

    allowed_namespaces: AllowedNamespaces = Field(description="Namespaces whose campaigns may use the provider.")


class ProviderError(SpecModel):
    """The last error that concerned the provider itself."""

    code: str = Field(max_length=64, description="Code of the error.")
    message: str = Field(default="", max_length=512, description="The far end's words, addresses masked.")
    time: Timestamp = Field(description="When it was met.")


class ProviderStatus(SpecModel):
    """State of the provider, written by the operator."""

    observed_generation: Int = Field(
        default=-1, ge=-1, description="Generation of the spec that this status speaks of."
    )
    paused_until: Timestamp | None = Field(default=None, description="No hand-off before this time.")
    last_error: ProviderError | None = Field(
        default=None, description="The last error that concerned the provider itself."
    )
    conditions: Conditions = Field(default=(), description="Conditions: Ready and Throttled.")


class NotificationProvider(SpecModel):
    """An endpoint that takes messages, for the campaigns of its namespace."""

    api_version: ApiVersion = Field(default=API_VERSION, description="sendonce.dev/v1alpha1")
    kind: Literal["NotificationProvider"] = Field(default="NotificationProvider", description="NotificationProvider")
    metadata: Metadata = Field(description="Name, namespace, labels.")
    spec: ProviderSpec = Field(description="What is wished.")
    status: ProviderStatus = Field(default=ProviderStatus(), description="What is.")


class ClusterNotificationProvider(SpecModel):
    """An endpoint that takes messages, for the campaigns of several namespaces, under one pace."""

    api_version: ApiVersion = Field(default=API_VERSION, description="sendonce.dev/v1alpha1")
    kind: Literal["ClusterNotificationProvider"] = Field(
        default="ClusterNotificationProvider",
        description="ClusterNotificationProvider",
    )
    metadata: ClusterMetadata = Field(description="Name, labels.")
    spec: ClusterProviderSpec = Field(description="What is wished.")
    status: ProviderStatus = Field(default=ProviderStatus(), description="What is.")
