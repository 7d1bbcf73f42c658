"""Twilio: status callbacks of messages, and STOP and START from people.

The signature covers our public address with its query, and the fields of the form in the order of their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sendonce_gateway.receipts.reading import form, phone
from sendonce_gateway.receipts.signatures import base64_hmac, one_fits
from sendonce_gateway.receipts.source import Post, Secrets, Source
from sendonce_store.receipts import Kind, Receipt

_STATES = {
    "accepted": Kind.ACCEPTED,
    "queued": Kind.ACCEPTED,
    "sending": Kind.ACCEPTED,
    "sent": Kind.ACCEPTED,
    "delivered": Kind.DELIVERED,
    "read": Kind.DELIVERED,
    "undelivered": Kind.BOUNCED_TRANSIENT,
    "failed": Kind.FAILED,
}
# what an ErrorCode says of the number: no such one, or it can't get texts; the person opted out
_CODES = {"30005": Kind.BOUNCED, "30006": Kind.BOUNCED, "21610": Kind.UNSUBSCRIBED}
_WISHES = {"STOP": Kind.UNSUBSCRIBED, "START": Kind.RETURNED}


def verify(post: Post, secrets: Secrets, now: datetime) -> None:  # noqa: ARG001 - nothing in it is dated
    """Raise ForgeryError, or MalformedError."""
    given = post.header("x-twilio-signature")
    fields = form(post.body)
    signed = (post.url + "".join(f"{name}{fields[name]}" for name in sorted(fields))).encode()
    one_fits(given, secrets.get("authToken", ()), lambda token: base64_hmac(token.encode(), signed, "sha1"))


def parse(post: Post) -> list[Receipt]:
    """Read a callback, or a message from a person. Raises MalformedError."""
    fields = form(post.body)
    sid, state = fields.get("MessageSid", ""), fields.get("MessageStatus", "")
    if not state:
        return _wish(fields, sid)
    kind, code = _STATES.get(state), fields.get("ErrorCode", "")
    if kind is None:
        return []
    return [
        Receipt(
            _CODES.get(code, kind) if kind in {Kind.BOUNCED_TRANSIENT, Kind.FAILED} else kind,
            f"{sid} {state}",
            delivery_id=post.query.get("delivery") or None,
            message_id=sid or None,
            address=phone(fields.get("To", "")),
            detail=" ".join(filter(None, (code and f"ErrorCode {code}", fields.get("ErrorMessage", "")))),
        )
    ]


def _wish(fields: Mapping[str, str], sid: str) -> list[Receipt]:
    kind, number = _WISHES.get(fields.get("OptOutType", "")), phone(fields.get("From", ""))
    return [Receipt(kind, sid, address=number, channel="SMS")] if kind is not None and number is not None else []


SOURCE = Source("Twilio", ("authToken",), verify, parse)
