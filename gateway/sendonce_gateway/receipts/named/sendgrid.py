"""SendGrid: the signed event webhook. ECDSA P-256 over the timestamp and the bytes of the body."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from datetime import datetime

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from sendonce_gateway.receipts.reading import email, items, member, seconds, text
from sendonce_gateway.receipts.source import DAY, ForgeryError, Post, SecretError, Secrets, Source, check_age
from sendonce_store.receipts import Kind, Receipt

_SIGNATURE, _TIMESTAMP = "x-twilio-email-event-webhook-signature", "x-twilio-email-event-webhook-timestamp"
_KINDS = {
    "processed": Kind.ACCEPTED,
    "deferred": Kind.ACCEPTED,
    "delivered": Kind.DELIVERED,
    "bounce": Kind.BOUNCED,
    "dropped": Kind.DROPPED,
    "spamreport": Kind.COMPLAINED,
    "unsubscribe": Kind.UNSUBSCRIBED,
    "group_unsubscribe": Kind.UNSUBSCRIBED,
    "group_resubscribe": Kind.RETURNED,
}


def verify(post: Post, secrets: Secrets, now: datetime) -> None:
    """Raise ForgeryError, or SecretError."""
    given, moment = post.header(_SIGNATURE), post.header(_TIMESTAMP)
    signed = moment.encode("utf-8", "surrogateescape") + post.body
    if not any(_fits(_key(line), given, signed) for line in secrets.get("publicKey", ())):
        raise ForgeryError("bad_signature", "the signature does not fit the request and our public key")
    at = seconds(moment)
    if at is None:
        raise ForgeryError("bad_timestamp", f"{_TIMESTAMP} is no number of seconds")
    check_age(at, now, DAY)


def _key(line: str) -> EllipticCurvePublicKey:
    try:
        key = load_der_public_key(b64decode(line, validate=True))
    except (Base64Error, ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise SecretError("publicKey: a line must be the verification key as SendGrid shows it, in base64")
    return key


def _fits(key: EllipticCurvePublicKey, given: str, signed: bytes) -> bool:
    try:
        key.verify(b64decode(given, validate=True), signed, ECDSA(SHA256()))
    except (Base64Error, ValueError, InvalidSignature):
        return False
    return True


def parse(post: Post) -> list[Receipt]:
    """Read the events of one request; opens and clicks are left out. Raises MalformedError."""
    events = [(event, _KINDS.get(text(event, "event"))) for event in items(post.body)]
    return [_receipt(event, kind) for event, kind in events if kind is not None]


def _receipt(event: Mapping[str, object], kind: Kind) -> Receipt:
    turned_away = kind is Kind.BOUNCED and text(event, "type") == "blocked"
    return Receipt(
        Kind.BOUNCED_TRANSIENT if turned_away else kind,
        text(event, "sg_event_id"),
        seconds(member(event, "timestamp")),
        delivery_id=text(event, "sendonce_delivery") or None,
        # the id that the API gave is its beginning
        message_id=text(event, "sg_message_id").partition(".")[0] or None,
        address=email(text(event, "email")),
        detail=" ".join(filter(None, (text(event, "status"), text(event, "reason")))),
    )


SOURCE = Source("SendGrid", ("publicKey",), verify, parse)
