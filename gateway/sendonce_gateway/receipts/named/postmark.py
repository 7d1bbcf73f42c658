"""Postmark: webhooks. It signs nothing: a login or a header that we gave it shows that it is Postmark."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime

from sendonce_gateway.receipts.reading import email, json_object, moment, text
from sendonce_gateway.receipts.signatures import same
from sendonce_gateway.receipts.source import ForgeryError, Post, SecretError, Secrets, Source
from sendonce_store.receipts import Kind, Receipt

# types of bounces that say something of the address, or of the person; others pass, or are no bounces at all
_BOUNCES = {
    "HardBounce": Kind.BOUNCED,
    "BadEmailAddress": Kind.BOUNCED,
    "SpamComplaint": Kind.COMPLAINED,
    "Unsubscribe": Kind.UNSUBSCRIBED,
    **dict.fromkeys(("AutoResponder", "AddressChange", "ChallengeVerification", "Subscribe"), Kind.ACCEPTED),
}
_CHANGES = {"HardBounce": Kind.BOUNCED, "SpamComplaint": Kind.COMPLAINED}
_TIMES = ("DeliveredAt", "BouncedAt", "ChangedAt")


def verify(post: Post, secrets: Secrets, now: datetime) -> None:  # noqa: ARG001 - nothing in it is dated
    """Raise ForgeryError, or SecretError."""
    wanted = [("authorization", f"Basic {b64encode(line.encode()).decode()}") for line in secrets.get("login", ())]
    wanted += [_header(line) for line in secrets.get("header", ())]
    if not any(name in post.headers for name, _ in wanted):
        raise ForgeryError("no_signature", "there is neither our login nor our header")
    if not any(same(post.headers.get(name, ""), value) for name, value in wanted):
        raise ForgeryError("bad_signature", "login or header are not ours")


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip() or not value.strip():
        raise SecretError("header: a line must be a header such as X-Sendonce: and a long random word")
    return name.strip().lower(), value.strip()


def parse(post: Post) -> list[Receipt]:
    """Read one event; opens and clicks are left out. Raises MalformedError."""
    event = json_object(post.body)
    kind = _kind(event)
    if kind is None:
        return []
    message_id, bounce = text(event, "MessageID"), text(event, "ID")
    at = next(filter(None, (text(event, name) for name in _TIMES)), "")
    return [
        Receipt(
            kind,
            # only bounces have an id
            f"bounce {bounce}" if bounce else f"{text(event, 'RecordType')} {message_id} {at}",
            moment(at),
            delivery_id=text(event, "Metadata", "sendonce_delivery") or None,
            message_id=message_id or None,
            address=email(text(event, "Recipient") or text(event, "Email")),
            channel="Email",
            detail=text(event, "Details") or text(event, "Description"),
        )
    ]


def _kind(event: Mapping[str, object]) -> Kind | None:
    match text(event, "RecordType"):
        case "Delivery":
            return Kind.DELIVERED
        case "SpamComplaint":
            return Kind.COMPLAINED
        case "Bounce":
            return _BOUNCES.get(text(event, "Type"), Kind.BOUNCED_TRANSIENT)
        case "SubscriptionChange" if event.get("SuppressSending") is False:
            return Kind.RETURNED
        case "SubscriptionChange":
            return _CHANGES.get(text(event, "SuppressionReason"), Kind.UNSUBSCRIBED)
        case _:
            return None


SOURCE = Source("Postmark", ("login", "header"), verify, parse)
