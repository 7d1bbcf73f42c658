"""NotificationProvider and ClusterNotificationProvider: an endpoint that takes messages, its pace and its errors."""

from typing import Any, ClassVar, Literal

from pydantic import Field
from pydantic.alias_generators import to_snake

from sendonce_store.spec.base import Bool, Int, SpecModel, Timestamp
from sendonce_store.spec.channels import ProviderType
from sendonce_store.spec.conditions import Conditions
from sendonce_store.spec.far_ends import BLOCKS, DEFAULT_PACES, KEY_WINDOWS
from sendonce_store.spec.http_provider import HttpProvider
from sendonce_store.spec.metadata import API_VERSION, ApiVersion, ClusterMetadata, Metadata, SecretRef
from sendonce_store.spec.named_email import (
    MailgunProvider,
    PostmarkProvider,
    ResendProvider,
    SendGridProvider,
    SesProvider,
)
from sendonce_store.spec.named_messaging import (
    LineProvider,
    SlackProvider,
    TelegramProvider,
    TwilioProvider,
    VonageProvider,
)
from sendonce_store.spec.named_push import AppriseProvider, FcmProvider, StandardWebhooksProvider, WebPushProvider
from sendonce_store.spec.namespaces import AllowedNamespaces
from sendonce_store.spec.provider_rules import PROVIDER_RULES
from sendonce_store.spec.rules import Rule
from sendonce_store.spec.smtp_provider import SmtpProvider

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


_ATTRIBUTES = {kind: to_snake(block) for kind, block in BLOCKS.items()}


class ProviderSpec(SpecModel):
    """How to reach the far end, and how fast it may be used."""

    type: ProviderType = Field(
        description="What kind of far end it is: HTTP and SMTP for any, the others by their names. Immutable."
    )
    suspend: Bool = Field(default=False, description="Stops every campaign that uses the provider while true.")
    http: HttpProvider | None = Field(default=None, description="Settings of the type HTTP.")
    smtp: SmtpProvider | None = Field(default=None, description="Settings of the type SMTP.")
    twilio: TwilioProvider | None = Field(default=None, description="Settings of the type Twilio.")
    ses: SesProvider | None = Field(default=None, description="Settings of the type SES.")
    send_grid: SendGridProvider | None = Field(default=None, description="Settings of the type SendGrid.")
    mailgun: MailgunProvider | None = Field(default=None, description="Settings of the type Mailgun.")
    postmark: PostmarkProvider | None = Field(default=None, description="Settings of the type Postmark.")
    resend: ResendProvider | None = Field(default=None, description="Settings of the type Resend.")
    line: LineProvider | None = Field(default=None, description="Settings of the type Line.")
    slack: SlackProvider | None = Field(default=None, description="Settings of the type Slack.")
    telegram: TelegramProvider | None = Field(default=None, description="Settings of the type Telegram.")
    vonage: VonageProvider | None = Field(default=None, description="Settings of the type Vonage.")
    fcm: FcmProvider | None = Field(default=None, description="Settings of the type FCM.")
    web_push: WebPushProvider | None = Field(default=None, description="Settings of the type WebPush.")
    standard_webhooks: StandardWebhooksProvider | None = Field(
        default=None, description="Settings of the type StandardWebhooks."
    )
    apprise: AppriseProvider | None = Field(default=None, description="Settings of the type Apprise.")
    credentials_secret_ref: SecretRef | None = Field(
        default=None,
        description="Secret with the credentials, looked up in the campaign's namespace. "
        "HTTP: each key can be used in header templates as `{{ secret.NAME }}`. SMTP: username, password. Which keys "
        "the other types need, and they do need them, is said at their blocks.",
    )
    limits: tuple[Limit, ...] = Field(
        default=(),
        max_length=5,
        description="Paces; all of them hold. Empty: what "
        "the far end publishes for every account, if it does so; see docs/providers.md.",
    )
    max_in_flight: Int = Field(
        default=64, ge=1, le=10_000, description="Messages that one worker has in flight at most."
    )
    timeout_seconds: Int = Field(
        default=30, ge=1, le=600, description="Seconds for one hand-off in all, connecting included."
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = PROVIDER_RULES

    def block(self, kind: ProviderType) -> SpecModel | None:
        """The settings of that type, or None where there are none."""
        block: SpecModel | None = getattr(self, _ATTRIBUTES[kind])
        return block

    @property
    def paces(self) -> tuple[Limit, ...]:
        """The limits that hold: those given, else what the far end publishes for every account."""
        if self.limits or self.type not in DEFAULT_PACES:
            return self.limits
        messages, seconds = DEFAULT_PACES[self.type]
        return (Limit(messages=messages, period_seconds=seconds),)

    @property
    def key_window(self) -> int | None:
        """Seconds for which the far end remembers a key; None: it has none."""
        if self.http is not None:
            return self.http.key_window_seconds
        if self.standard_webhooks is not None:
            return self.standard_webhooks.key_window_seconds
        return KEY_WINDOWS.get(self.type)


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
