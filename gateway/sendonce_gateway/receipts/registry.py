"""All kinds of providers that report, by the word that stands for each in an address of the gateway."""

from __future__ import annotations

from collections.abc import Mapping

from sendonce_gateway.receipts.named import (
    line,
    mailgun,
    postmark,
    resend,
    sendgrid,
    ses,
    standard_webhooks,
    telegram,
    twilio,
    vonage,
)
from sendonce_gateway.receipts.source import Source

__all__ = ["SOURCES"]

SOURCES: Mapping[str, Source] = {
    "ses": ses.SOURCE,
    "sendgrid": sendgrid.SOURCE,
    "mailgun": mailgun.SOURCE,
    "postmark": postmark.SOURCE,
    "resend": resend.SOURCE,
    "twilio": twilio.SOURCE,
    "vonage": vonage.SOURCE,
    "line": line.SOURCE,
    "telegram": telegram.SOURCE,
    "webhook": standard_webhooks.SOURCE,
}
