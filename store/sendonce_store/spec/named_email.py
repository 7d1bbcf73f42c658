"""`spec.ses`, `spec.sendGrid`, `spec.mailgun`, `spec.postmark` and `spec.resend`: APIs that take email."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sendonce_store.spec.named_base import DOMAIN, NAME, REGION, NamedProvider

__all__ = ["MailgunProvider", "PostmarkProvider", "ResendProvider", "SendGridProvider", "SesProvider"]

Name = Annotated[str, Field(pattern=NAME, max_length=64)]


class SesProvider(NamedProvider):
    """Amazon SES v2. The credentials Secret has the keys `accessKeyID`, `secretAccessKey`, perhaps `sessionToken`."""

    region: Annotated[str, Field(pattern=REGION, max_length=32)] = Field(
        description="Region of the account, such as eu-west-1; limits and identities are per region.",
    )
    configuration_set: Name | None = Field(
        default=None, description="Name of the configuration set, which decides where events go."
    )


class SendGridProvider(NamedProvider):
    """A SendGrid account. The credentials Secret has the key `apiKey`."""


class MailgunProvider(NamedProvider):
    """A Mailgun domain. The credentials Secret has the key `apiKey`."""

    domain: Annotated[str, Field(pattern=DOMAIN, max_length=253)] = Field(
        description="Sending domain, such as mg.example.com."
    )


class PostmarkProvider(NamedProvider):
    """A Postmark server. The credentials Secret has the key `serverToken`."""

    message_stream: Name | None = Field(
        default=None,
        description="Message stream; absent: outbound, which is for transactional mail. Marketing needs a broadcast "
        "stream.",
    )


class ResendProvider(NamedProvider):
    """A Resend team. The credentials Secret has the key `apiKey`."""
