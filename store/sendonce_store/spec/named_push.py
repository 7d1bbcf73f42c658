"""`spec.fcm`, `spec.webPush`, `spec.standardWebhooks` and `spec.apprise`: to devices, to endpoints, to all the rest."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from sendonce_store.spec.base import Int, SpecModel
from sendonce_store.spec.named_base import HOST_PATTERN, NAME, PROJECT, SUBJECT, NamedProvider

__all__ = ["AppriseProvider", "FcmProvider", "StandardWebhooksProvider", "Urgency", "WebPushProvider"]

HostPattern = Annotated[str, Field(pattern=HOST_PATTERN, max_length=253)]
PUSH_SERVICES = (
    "fcm.googleapis.com",
    "*.push.services.mozilla.com",
    "*.push.apple.com",
    "*.notify.windows.com",
)
"""Push services of the common browsers."""


class Urgency(StrEnum):
    """How soon a device should be woken (RFC 8030, section 5.3)."""

    VERY_LOW = "VeryLow"
    LOW = "Low"
    NORMAL = "Normal"
    HIGH = "High"


class FcmProvider(NamedProvider):
    """Firebase Cloud Messaging, HTTP v1.

    The credentials Secret has the key `serviceAccount`: the JSON file of a service account's key.
    """

    project_id: Annotated[str, Field(pattern=PROJECT, max_length=63)] | None = Field(
        default=None, description="Project; absent: the service account's own."
    )


class WebPushProvider(SpecModel):
    """Web Push (RFC 8030) to browsers' push services.

    A recipient's `webpush` address is the subscription as the browser gives it, as JSON. The credentials Secret has the
    key `vapidPrivateKey`: the P-256 key that the subscriptions were made with, as PEM or in 43 characters of base64url.
    """

    subject: Annotated[str, Field(pattern=SUBJECT, max_length=256)] = Field(
        description="Whom a push service can turn to: mailto:push@example.com or a https URL.",
    )
    ttl_seconds: Int = Field(
        default=86_400, ge=0, le=2_419_200, description="Seconds for which a push service keeps a message for a device."
    )
    urgency: Urgency = Field(default=Urgency.NORMAL, description="VeryLow, Low, Normal or High.")
    allowed_hosts: tuple[HostPattern, ...] = Field(
        default=PUSH_SERVICES, min_length=1, max_length=100, description="Hosts to which subscriptions may lead."
    )


class StandardWebhooksProvider(SpecModel):
    """Signed webhooks (Standard Webhooks); a recipient's `webhook` address is the URL of its endpoint.

    The credentials Secret has the key `signingSecret` (whsec_ and base64 of 24 to 64 bytes) and, while it is being
    replaced, `oldSigningSecret`: messages then carry both signatures.
    """

    allowed_hosts: tuple[HostPattern, ...] = Field(
        min_length=1,
        max_length=100,
        description="Hosts to which messages may go; * allows every name, but no bare address.",
    )
    event_type: Annotated[str, Field(pattern=NAME, max_length=128)] = Field(
        default="notification", description="The payload's type."
    )
    key_window_seconds: Int | None = Field(
        default=None,
        ge=1,
        le=31_536_000,
        description="Seconds for which all receivers are known to drop a webhook-id that they had before; absent: they "
        "are not, and a lost answer ends as uncertain.",
    )


class AppriseProvider(SpecModel):
    """One of the services of the Apprise library, which the worker's image must have beside Sendonce.

    The credentials Secret has the key `url`: an Apprise URL, in which {to} stands for the recipient's address.
    """
