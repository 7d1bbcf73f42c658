"""`spec.twilio`, `spec.vonage`, `spec.line`, `spec.slack`, `spec.telegram`: text to phones and chats."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sendonce_store.spec.base import Bool
from sendonce_store.spec.named_base import ACCOUNT_SID, CALLBACK, NUMBER_OR_SID, NamedProvider

__all__ = ["LineProvider", "SlackProvider", "TelegramProvider", "TwilioProvider", "VonageProvider"]


class TwilioProvider(NamedProvider):
    """A Twilio account. The credentials Secret has the keys `apiKeySID` and `apiKeySecret`."""

    account_sid: Annotated[str, Field(pattern=ACCOUNT_SID, max_length=34)] = Field(
        description="Account SID: AC and 32 hex digits.",
    )
    messaging_service_sid: Annotated[str, Field(pattern=NUMBER_OR_SID, max_length=34)] | None = Field(
        default=None,
        description="Messaging service that picks the sender: MG and 32 hex digits. Absent: the template's from.",
    )
    status_callback_url: Annotated[str, Field(pattern=CALLBACK, max_length=1024)] | None = Field(
        default=None,
        description="Where Twilio reports what became of a message; delivery=ID is added to its query.",
    )


class VonageProvider(NamedProvider):
    """A Vonage account (SMS API). The credentials Secret has the keys `apiKey` and `apiSecret`."""


class LineProvider(NamedProvider):
    """A LINE Messaging API channel. The credentials Secret has the key `channelAccessToken`."""

    notification_disabled: Bool = Field(default=False, description="Deliver without a sound on the person's phone.")


class SlackProvider(NamedProvider):
    """A Slack app (chat.postMessage). The credentials Secret has the key `botToken`."""


class TelegramProvider(NamedProvider):
    """A Telegram bot. The credentials Secret has the key `botToken`."""
