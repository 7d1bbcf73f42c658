"""Channels, the column in which a recipient's address for each of them stands, and who can serve which."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

__all__ = ["ADDRESS_COLUMNS", "CARRIES_ATTACHMENTS", "CHANNELS_OF_TYPE", "RESERVED_COLUMNS", "Channel", "ProviderType"]


class Channel(StrEnum):
    """A way to reach a person."""

    EMAIL = "Email"
    SMS = "SMS"
    LINE = "Line"
    PUSH = "Push"
    SLACK = "Slack"
    TELEGRAM = "Telegram"
    WEB_PUSH = "WebPush"
    WEBHOOK = "Webhook"


class ProviderType(StrEnum):
    """What kind of far end a provider speaks to."""

    HTTP = "HTTP"
    SMTP = "SMTP"
    TWILIO = "Twilio"
    SES = "SES"
    SEND_GRID = "SendGrid"
    MAILGUN = "Mailgun"
    POSTMARK = "Postmark"
    RESEND = "Resend"
    LINE = "Line"
    SLACK = "Slack"
    TELEGRAM = "Telegram"
    VONAGE = "Vonage"
    FCM = "FCM"
    WEB_PUSH = "WebPush"
    STANDARD_WEBHOOKS = "StandardWebhooks"
    APPRISE = "Apprise"


ADDRESS_COLUMNS: Mapping[Channel, str] = MappingProxyType(
    {
        Channel.EMAIL: "email",
        Channel.SMS: "phone",
        Channel.LINE: "line",
        Channel.PUSH: "push",
        Channel.SLACK: "slack",
        Channel.TELEGRAM: "telegram",
        Channel.WEB_PUSH: "webpush",
        Channel.WEBHOOK: "webhook",
    },
)
"""Channel → CSV header, NDJSON key, SQL column or inline field of its address."""

RESERVED_COLUMNS: frozenset[str] = frozenset(
    {"id", "timezone", "locale", "quiet", "channels", *ADDRESS_COLUMNS.values()}
)
"""Columns with a meaning of their own; every other column is a template variable."""

CHANNELS_OF_TYPE: Mapping[ProviderType, frozenset[Channel]] = MappingProxyType(
    {
        ProviderType.HTTP: frozenset(Channel),
        ProviderType.SMTP: frozenset({Channel.EMAIL}),
        ProviderType.TWILIO: frozenset({Channel.SMS}),
        ProviderType.SES: frozenset({Channel.EMAIL}),
        ProviderType.SEND_GRID: frozenset({Channel.EMAIL}),
        ProviderType.MAILGUN: frozenset({Channel.EMAIL}),
        ProviderType.POSTMARK: frozenset({Channel.EMAIL}),
        ProviderType.RESEND: frozenset({Channel.EMAIL}),
        ProviderType.LINE: frozenset({Channel.LINE}),
        ProviderType.SLACK: frozenset({Channel.SLACK}),
        ProviderType.TELEGRAM: frozenset({Channel.TELEGRAM}),
        ProviderType.VONAGE: frozenset({Channel.SMS}),
        ProviderType.FCM: frozenset({Channel.PUSH}),
        ProviderType.WEB_PUSH: frozenset({Channel.WEB_PUSH}),
        ProviderType.STANDARD_WEBHOOKS: frozenset({Channel.WEBHOOK}),
        ProviderType.APPRISE: frozenset(Channel),
    },
)
"""Provider type → the channels that it can serve."""

CARRIES_ATTACHMENTS: frozenset[ProviderType] = frozenset({ProviderType.SMTP})
"""Provider types that take the files of a message along with it."""
