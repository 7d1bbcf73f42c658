"""Vonage: delivery receipts of the SMS API, signed with HMAC-SHA256 (the account's default is MD5, which is refused).

Signed are all fields but `sig`, by their names, each as `&name=value`, with `&` and `=` in values as `_`.
"""

from __future__ import annotations

from datetime import datetime

from sendonce_gateway.receipts.reading import form, json_object, moment, phone, seconds, text
from sendonce_gateway.receipts.signatures import hex_hmac, one_fits
from sendonce_gateway.receipts.source import DAY, ForgeryError, Post, Secrets, Source, check_age
from sendonce_store.receipts import Kind, Receipt

_STATES = {
    "accepted": Kind.ACCEPTED,
    "buffered": Kind.ACCEPTED,
    "delivered": Kind.DELIVERED,
    "expired": Kind.BOUNCED_TRANSIENT,
    "failed": Kind.FAILED,
    "rejected": Kind.FAILED,
}
# an err-code that says something of the number: absent for good, illegal
_CODES = {"3": Kind.BOUNCED, "9": Kind.BOUNCED}
_UNSAFE = str.maketrans("&=", "__")


def fields_of(post: Post) -> dict[str, str]:
    """The fields, of a form or of JSON. Raises MalformedError."""
    if post.headers.get("content-type", "").partition(";")[0].strip() == "application/json":
        found = json_object(post.body)
        return {name: text(found, name) for name in found}
    return form(post.body)


def verify(post: Post, secrets: Secrets, now: datetime) -> None:
    """Raise ForgeryError, or MalformedError."""
    fields = fields_of(post)
    given = fields.pop("sig", "")
    if not given:
        raise ForgeryError("no_signature", "there is no sig: let Vonage sign webhooks, with SHA-256 HMAC")
    signed = "".join(f"&{name}={fields[name].translate(_UNSAFE)}" for name in sorted(fields)).encode()
    secret = secrets.get("signatureSecret", ())
    one_fits(given.lower(), secret, lambda key: hex_hmac(key.encode(), signed, "sha256"))
    at = seconds(fields.get("timestamp"))
    if at is None:
        raise ForgeryError("bad_timestamp", "timestamp is no number of seconds")
    check_age(at, now, DAY)


def parse(post: Post) -> list[Receipt]:
    """Read one receipt: there is one for each part of a long text. Raises MalformedError."""
    fields = fields_of(post)
    kind, code = _STATES.get(fields.get("status", "")), fields.get("err-code", "")
    if kind is None:
        return []
    message_id = fields.get("messageId", "")
    return [
        Receipt(
            _CODES.get(code, kind) if kind in {Kind.BOUNCED_TRANSIENT, Kind.FAILED} else kind,
            f"{message_id} {fields['status']}",
            moment(fields.get("message-timestamp")),
            delivery_id=fields.get("client-ref") or None,
            message_id=message_id or None,
            address=phone(fields.get("msisdn", "")),
            detail=f"err-code {code}" if code not in {"", "0"} else "",
        )
    ]


SOURCE = Source("Vonage", ("signatureSecret",), verify, parse)
