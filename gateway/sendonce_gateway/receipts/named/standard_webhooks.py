"""Standard Webhooks: reports of a system of your own, for providers of the types HTTP and StandardWebhooks.

The body is `{"type": "receipt.bounced", "timestamp": …, "data": {"delivery": …}}`, and `message`, `address`, `channel`
and `detail` where they are known.
"""

from __future__ import annotations

from datetime import datetime

from sendonce_gateway.receipts.reading import json_object, member, moment, text
from sendonce_gateway.receipts.signatures import check_webhook
from sendonce_gateway.receipts.source import MalformedError, Post, Secrets, Source
from sendonce_store.receipts import Kind, Receipt

_KINDS = {f"receipt.{kind}": kind for kind in Kind}


def verify(post: Post, secrets: Secrets, now: datetime) -> None:
    """Raise ForgeryError, or SecretError."""
    check_webhook(post, secrets, now, "webhook-")


def parse(post: Post) -> list[Receipt]:
    """Read one report. Raises MalformedError, also for a type that we have never heard of."""
    event = json_object(post.body)
    kind = _KINDS.get(text(event, "type"))
    if kind is None:
        raise MalformedError(f"type: use one of {', '.join(_KINDS)}")
    data = member(event, "data")
    if not any(text(data, name) for name in ("delivery", "message", "address")):
        raise MalformedError("data: name a delivery, a message or an address")
    return [
        Receipt(
            kind,
            post.header("webhook-id"),
            moment(member(event, "timestamp")),
            delivery_id=text(data, "delivery") or text(data, "id") or None,
            message_id=text(data, "message") or None,
            address=text(data, "address") or None,
            channel=text(data, "channel") or None,
            detail=text(data, "detail"),
        )
    ]


SOURCE = Source("Standard Webhooks", ("secret",), verify, parse)
