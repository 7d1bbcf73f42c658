"""Mailgun: webhooks. The HMAC covers a timestamp and a token, not the event: a token is good for one event."""

from __future__ import annotations

from datetime import datetime

from sendonce_gateway.receipts.reading import email, json_object, member, seconds, text
from sendonce_gateway.receipts.signatures import hex_hmac, one_fits
from sendonce_gateway.receipts.source import DAY, ForgeryError, Post, Secrets, Source, check_age
from sendonce_store.receipts import Kind, Receipt

_KINDS = {
    "accepted": Kind.ACCEPTED,
    "delivered": Kind.DELIVERED,
    "failed": Kind.ACCEPTED,  # for now: it is tried again
    "rejected": Kind.DROPPED,
    "complained": Kind.COMPLAINED,
    "unsubscribed": Kind.UNSUBSCRIBED,
}
# of failures that are for good, those that say nothing of the address
_NOT_THE_ADDRESS = {
    "old": Kind.FAILED,  # tried for hours
    "suppress-complaint": Kind.DROPPED,
    "suppress-unsubscribe": Kind.DROPPED,
}


def verify(post: Post, secrets: Secrets, now: datetime) -> None:
    """Raise ForgeryError, or MalformedError."""
    signature = member(json_object(post.body), "signature")
    given, moment, token = (text(signature, name) for name in ("signature", "timestamp", "token"))
    if not given or not token:
        raise ForgeryError("no_signature", "there is no signature with a token in the body")
    signed = f"{moment}{token}".encode()
    one_fits(given, secrets.get("signingKey", ()), lambda key: hex_hmac(key.encode(), signed, "sha256"))
    at = seconds(moment)
    if at is None:
        raise ForgeryError("bad_timestamp", "signature.timestamp is no number of seconds")
    check_age(at, now, DAY)


def parse(post: Post) -> list[Receipt]:
    """Read one event; opens and clicks are left out. Raises MalformedError."""
    found = json_object(post.body)
    event = member(found, "event-data")
    kind = _KINDS.get(text(event, "event"))
    if kind is None:
        return []
    reason = text(event, "reason")
    if text(event, "event") == "failed" and text(event, "severity") == "permanent":
        kind = _NOT_THE_ADDRESS.get(reason, Kind.BOUNCED)
    message_id = text(event, "message", "headers", "message-id")
    status = member(event, "delivery-status")
    said = (text(status, "code"), text(status, "message") or text(status, "description"), reason)
    return [
        Receipt(
            kind,
            text(found, "signature", "token"),
            seconds(member(event, "timestamp")),
            delivery_id=text(event, "user-variables", "sendonce-delivery") or None,
            message_id=f"<{message_id}>" if message_id else None,
            address=email(text(event, "recipient")),
            detail=" ".join(filter(None, said)),
            once=True,
        )
    ]


SOURCE = Source("Mailgun", ("signingKey",), verify, parse)
