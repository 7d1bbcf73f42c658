"""What is known of the named far ends before anything is sent: their blocks, how long keys live, how fast they go.

A fact that is not confirmed by the vendor is chosen so that a mistake holds a message back rather than sends it twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sendonce_store.spec.channels import ProviderType

__all__ = ["BLOCKS", "DEFAULT_PACES", "KEY_WINDOWS", "NEEDED_BLOCKS", "WITHOUT_SECRET"]

BLOCKS: Mapping[ProviderType, str] = MappingProxyType(
    {
        ProviderType.HTTP: "http",
        ProviderType.SMTP: "smtp",
        ProviderType.TWILIO: "twilio",
        ProviderType.SES: "ses",
        ProviderType.SEND_GRID: "sendGrid",
        ProviderType.MAILGUN: "mailgun",
        ProviderType.POSTMARK: "postmark",
        ProviderType.RESEND: "resend",
        ProviderType.LINE: "line",
        ProviderType.SLACK: "slack",
        ProviderType.TELEGRAM: "telegram",
        ProviderType.VONAGE: "vonage",
        ProviderType.FCM: "fcm",
        ProviderType.WEB_PUSH: "webPush",
        ProviderType.STANDARD_WEBHOOKS: "standardWebhooks",
        ProviderType.APPRISE: "apprise",
    }
)
"""Provider type → the field that configures it."""

NEEDED_BLOCKS = frozenset(
    {
        ProviderType.HTTP,
        ProviderType.SMTP,
        ProviderType.TWILIO,
        ProviderType.SES,
        ProviderType.MAILGUN,
        ProviderType.WEB_PUSH,
        ProviderType.STANDARD_WEBHOOKS,
    }
)
"""Types whose block has a required field; the block of the others may be left out."""

WITHOUT_SECRET = frozenset({ProviderType.HTTP, ProviderType.SMTP})
"""Types that can do without credentials."""

_HOUR = 3600
KEY_WINDOWS: Mapping[ProviderType, int] = MappingProxyType(
    {
        # both keep a key for 24 hours; afterwards it is a new request, so that the last hour is left alone
        ProviderType.LINE: 23 * _HOUR,
        ProviderType.RESEND: 23 * _HOUR,
    }
)
"""Provider type → seconds for which a repeat with the same key is safe; types that have no keys are not in here."""

DEFAULT_PACES: Mapping[ProviderType, tuple[int, int]] = MappingProxyType(
    {
        ProviderType.RESEND: (2, 1),  # the older and lower of the two figures that Resend's pages give, per team
        ProviderType.LINE: (2_000, 1),  # per channel and endpoint
        ProviderType.TELEGRAM: (30, 1),  # per bot, to different chats
        ProviderType.VONAGE: (30, 1),  # per API key
        ProviderType.FCM: (600_000, 60),  # per project
    }
)
"""Provider type → (messages, seconds) that hold where `limits` is empty: published, and the same for every account."""
