"""`spec.messages`: what is said on which channel, through which provider."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from sendonce_store.spec.attachments import MOST_ATTACHMENTS, Attachment
from sendonce_store.spec.base import ATOMIC, Bool, DnsSubdomain, HeaderName, LanguageTag, SpecModel, list_map
from sendonce_store.spec.channels import Channel
from sendonce_store.spec.message_rules import MESSAGE_RULES, VARIANT_RULES
from sendonce_store.spec.metadata import ConfigMapRef
from sendonce_store.spec.rules import Rule

__all__ = ["After", "FallbackOutcome", "Message", "ProviderKind", "ProviderRef", "Template", "TemplateVariant"]

_BY_LOCALE = Field(max_length=30, json_schema_extra=list_map("locale"))
_BY_NAME = Field(max_length=MOST_ATTACHMENTS, json_schema_extra=list_map("name"))
Header = Annotated[str, Field(max_length=998)]


class FallbackOutcome(StrEnum):
    """How the first channel must have ended for the fallback to be sent."""

    FAILED = "Failed"
    NO_ADDRESS = "NoAddress"
    SUPPRESSED = "Suppressed"
    EXPIRED = "Expired"


class After(SpecModel):
    """Makes a message a fallback of another channel."""

    channel: Channel = Field(description="The channel that is tried first.")
    outcomes: tuple[FallbackOutcome, ...] = Field(
        default=(FallbackOutcome.FAILED, FallbackOutcome.NO_ADDRESS),
        min_length=1,
        max_length=4,
        description="Ends of the first channel after which this message is sent.",
    )


class ProviderKind(StrEnum):
    """Which kind of provider is meant."""

    NOTIFICATION_PROVIDER = "NotificationProvider"
    CLUSTER_NOTIFICATION_PROVIDER = "ClusterNotificationProvider"


class ProviderRef(SpecModel):
    """The provider that takes the message."""

    model_config = ConfigDict(json_schema_extra=ATOMIC)

    kind: ProviderKind = Field(
        default=ProviderKind.NOTIFICATION_PROVIDER,
        description="NotificationProvider (of the campaign's namespace) or ClusterNotificationProvider.",
    )
    name: DnsSubdomain = Field(description="Name of the provider.")


class TemplateVariant(SpecModel):
    """The message in another language: what it gives stands in the place of the template's."""

    locale: LanguageTag = Field(description="Language tag, such as pt or pt-BR: for whom it is.")
    subject: str | None = Field(default=None, min_length=1, max_length=998, description="Subject or title, one line.")
    text: str | None = Field(default=None, max_length=32768, description="Plain text, at most 32 KiB.")
    html: str | None = Field(default=None, max_length=32768, description="HTML, Email only, at most 32 KiB.")
    mjml: str | None = Field(default=None, max_length=32768, description="MJML, Email only, at most 32 KiB.")
    config_map_ref: ConfigMapRef | None = Field(
        default=None,
        description="ConfigMap with the keys subject, text, html or mjml; fields given here come first.",
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = VARIANT_RULES


class Template(SpecModel):
    """What the message says; every field is a Jinja template over the recipient's variables."""

    from_: str | None = Field(
        default=None,
        min_length=1,
        max_length=998,
        description="Sender, such as `News <news@example.com>` or +15005550006.",
    )
    reply_to: str | None = Field(default=None, min_length=1, max_length=998, description="Address for answers.")
    subject: str | None = Field(default=None, min_length=1, max_length=998, description="Subject or title, one line.")
    text: str | None = Field(default=None, max_length=32768, description="Plain text, at most 32 KiB.")
    html: str | None = Field(
        default=None,
        max_length=32768,
        description="HTML, Email only, at most 32 KiB; use configMapRef for more. Variables are escaped.",
    )
    mjml: str | None = Field(
        default=None,
        max_length=32768,
        description="MJML in the place of html, Email only, at most 32 KiB; use configMapRef for more.",
    )
    inline_css: Bool = Field(
        default=False,
        description="Writes the rules of html's `<style>` into its elements, once, for mail programs that drop them.",
    )
    headers: dict[HeaderName, Header] = Field(
        default={},
        max_length=20,
        description="Further headers, such as List-Unsubscribe.",
    )
    config_map_ref: ConfigMapRef | None = Field(
        default=None,
        description="ConfigMap with the keys subject, text, html or mjml; fields given here come first.",
    )
    locale: LanguageTag | None = Field(
        default=None,
        description="Language tag of this text, such as en; dates and numbers are written so for whoever reads it.",
    )
    variants: Annotated[tuple[TemplateVariant, ...], _BY_LOCALE] = Field(
        default=(),
        description="The message in other languages, by the recipient's locale: pt-BR, then pt, then this text.",
    )
    attachments: Annotated[tuple[Attachment, ...], _BY_NAME] = Field(
        default=(), description="Files that every mail carries, Email over SMTP only, at most 2 MiB together."
    )


class Message(SpecModel):
    """One message of the campaign: a channel, a provider and a template."""

    channel: Channel = Field(description="Channel of the message; one message per channel.")
    after: After | None = Field(
        default=None,
        description="Send only if the message of another channel ended so. Without it, both are sent.",
    )
    provider_ref: ProviderRef = Field(description="The provider that takes the message.")
    template: Template = Field(description="What the message says.")

    RULES: ClassVar[tuple[Rule[Any], ...]] = MESSAGE_RULES
