"""Resend: webhooks, signed as Standard Webhooks are, with the older names of the headers."""

from __future__ import annotations

from datetime import datetime

from sendonce_gateway.receipts.reading import email, json_object, member, moment, text
from sendonce_gateway.receipts.signatures import check_webhook
from sendonce_gateway.receipts.source import Post, Secrets, Source
from sendonce_store.receipts import Kind, Receipt

_TAG = "sendonce_delivery"
_KINDS = {
    "email.sent": Kind.ACCEPTED,
    "email.delivery_delayed": Kind.ACCEPTED,
    "email.delivered": Kind.DELIVERED,
    "email.bounced": Kind.BOUNCED,
    "email.complained": Kind.COMPLAINED,
    "email.failed": Kind.FAILED,
    "email.suppressed": Kind.DROPPED,
}


def verify(post: Post, secrets: Secrets, now: datetime) -> None:
    """Raise ForgeryError, or SecretError."""
    check_webhook(post, secrets, now, "svix-")


def parse(post: Post) -> list[Receipt]:
    """Read one event; opens and clicks are left out. Raises MalformedError."""
    event = json_object(post.body)
    kind = _KINDS.get(text(event, "type"))
    if kind is None:
        return []
    data = member(event, "data")
    passes = kind is Kind.BOUNCED and text(data, "bounce", "type") in {"Transient", "Temporary", "Undetermined"}
    said = (text(data, "bounce", "subType"), text(data, "bounce", "message"), text(data, "failed", "reason"))
    return [
        Receipt(
            Kind.BOUNCED_TRANSIENT if passes else kind,
            post.header("svix-id"),
            moment(member(event, "created_at")),
            delivery_id=_tag(member(data, "tags")),
            message_id=text(data, "email_id") or None,
            address=email(text(data, "to", 0) or text(data, "to")),
            detail=" ".join(filter(None, said)),
        )
    ]


def _tag(tags: object) -> str | None:
    """Ours among the tags: an object of names, or a list of names and values."""
    pairs = tags if isinstance(tags, list) else []
    listed = next((text(pair, "value") for pair in pairs if text(pair, "name") == _TAG), "")
    return listed or text(tags, _TAG) or None


SOURCE = Source("Resend", ("secret",), verify, parse)
