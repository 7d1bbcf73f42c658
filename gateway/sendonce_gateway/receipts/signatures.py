"""Signatures with a shared secret, compared in constant time. Several secrets may be good: one of them has to fit."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from sendonce_gateway.receipts.reading import seconds
from sendonce_gateway.receipts.source import ForgeryError, Post, SecretError, Secrets, check_age

__all__ = ["base64_hmac", "check_webhook", "hex_hmac", "one_fits", "same"]

TOLERANCE = timedelta(minutes=5)  # of the specification of Standard Webhooks
_KEY_BYTES = range(16, 65)  # the specification says 24 to 64


def same(given: str, expected: str) -> bool:
    """Compare in constant time, whatever characters were sent."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def one_fits(given: str, secrets: Iterable[str], sign: Callable[[str], str]) -> None:
    """Raise ForgeryError unless `given` is the signature that one of the secrets makes."""
    if not any(same(given, sign(secret)) for secret in secrets):
        raise ForgeryError("bad_signature", "the signature does not fit the request and our secret")


def base64_hmac(key: bytes, message: bytes, digest: str) -> str:
    """The HMAC in base64."""
    return b64encode(hmac.digest(key, message, digest)).decode()


def hex_hmac(key: bytes, message: bytes, digest: str) -> str:
    """The HMAC in hexadecimal."""
    return hmac.digest(key, message, digest).hex()


def check_webhook(post: Post, secrets: Secrets, now: datetime, prefix: str) -> str:
    """Check a request signed as Standard Webhooks says, and return its id. Raises ForgeryError, SecretError.

    `prefix` of its headers: `webhook-`, or `svix-` with those who had it before the specification.
    """
    webhook_id, moment = post.header(f"{prefix}id"), post.header(f"{prefix}timestamp")
    given = [one.partition(",")[2] for one in post.header(f"{prefix}signature").split() if one.startswith("v1,")]
    signed = f"{webhook_id}.{moment}.".encode("utf-8", "surrogateescape") + post.body
    expected = [base64_hmac(_key(secret), signed, "sha256") for secret in secrets.get("secret", ())]
    if not any(same(one, each) for one in given for each in expected):
        raise ForgeryError("bad_signature", "none of the signatures fits the request and our secret")
    at = seconds(moment)
    if at is None:
        raise ForgeryError("bad_timestamp", f"{prefix}timestamp is no number of seconds")
    check_age(at, now, TOLERANCE)
    return webhook_id


def _key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix("whsec_"), validate=True)
    except (Base64Error, ValueError):
        raise SecretError("secret: a line must be whsec_ and base64") from None
    if len(key) not in _KEY_BYTES:
        raise SecretError(f"secret: a line has {len(key)} bytes behind whsec_, 24 to 64 are usual")
    return key
