"""Amazon SES, through a topic of Amazon SNS: event publishing, or the older notifications."""

from __future__ import annotations

from collections.abc import Mapping

from sendonce_gateway.receipts import sns
from sendonce_gateway.receipts.reading import email, json_object, member, moment, text
from sendonce_gateway.receipts.source import Post, Source
from sendonce_store.receipts import Kind, Receipt

_KINDS = {
    "Send": (Kind.ACCEPTED, "send"),
    "DeliveryDelay": (Kind.ACCEPTED, "deliveryDelay"),
    "Delivery": (Kind.DELIVERED, "delivery"),
    "Bounce": (Kind.BOUNCED_TRANSIENT, "bounce"),
    "Complaint": (Kind.COMPLAINED, "complaint"),
    "Reject": (Kind.DROPPED, "reject"),
    "Rendering Failure": (Kind.FAILED, "failure"),
    "Subscription": (Kind.UNSUBSCRIBED, "subscription"),
}
_WORDS = (
    ("bounce", "bouncedRecipients", 0, "diagnosticCode"),
    ("bounce", "bounceSubType"),
    ("complaint", "complaintFeedbackType"),
    ("reject", "reason"),
    ("failure", "errorMessage"),
)


def parse(post: Post) -> list[Receipt]:
    """Read one event. Raises MalformedError."""
    outer = sns.envelope(post.body)
    if text(outer, "Type") != "Notification":
        return []
    event = json_object(text(outer, "Message"))
    known = _KINDS.get(text(event, "eventType") or text(event, "notificationType"))
    if known is None or not _speaks(event, known[0]):
        return []
    kind, part = known
    return [
        Receipt(
            Kind.BOUNCED if text(event, "bounce", "bounceType") == "Permanent" else kind,
            text(outer, "MessageId"),
            moment(member(event, part, "timestamp")) or moment(text(outer, "Timestamp")),
            delivery_id=text(event, "mail", "tags", "sendonce-delivery", 0) or None,
            message_id=text(event, "mail", "messageId") or None,
            address=email(text(event, "mail", "destination", 0)),
            detail=next((words for path in _WORDS if (words := text(event, *path))), ""),
        )
    ]


def _speaks(event: Mapping[str, object], kind: Kind) -> bool:
    """Whether a change of subscription is one of the whole list."""
    all_of_it = member(event, "subscription", "newTopicPreferences", "unsubscribeAll")
    return kind is not Kind.UNSUBSCRIBED or all_of_it is True


SOURCE = Source("Amazon SES", ("topics",), sns.check, parse, sns.certificate_url, sns.confirmation)
