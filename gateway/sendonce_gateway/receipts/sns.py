"""The envelope in which Amazon SNS brings what SES says, and its signature.

AWS signs for every customer: what makes an envelope ours is its topic. Version 1 of the signature has SHA-1, version 2
SHA-256; the certificate is asked of an AWS host only (docs.aws.amazon.com/sns, "verifying the signatures").
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, HashAlgorithm
from cryptography.x509 import Certificate, load_pem_x509_certificate

from sendonce_gateway.receipts.reading import json_object, moment, text
from sendonce_gateway.receipts.source import DAY, ForgeryError, MalformedError, Post, Secrets, check_age

__all__ = ["certificate_url", "check", "confirmation", "envelope"]

_AWS = r"sns\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?"
_HOST = re.compile(_AWS)
_CERTIFICATE = re.compile(rf"https://{_AWS}/SimpleNotificationService-[0-9a-f]+\.pem")
_ARN = re.compile(r"arn:aws[a-z-]*:sns:([a-z0-9-]+):\d{12}:[A-Za-z0-9_-]{1,256}(?:\.fifo)?")
_MESSAGE = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
_DIGESTS: Mapping[str, type[HashAlgorithm]] = {"1": SHA1, "2": SHA256}


def envelope(body: bytes) -> Mapping[str, object]:
    """Read an envelope. Raises MalformedError."""
    found = json_object(body)
    if text(found, "Type") not in {"Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"}:
        raise MalformedError("this is no message of SNS: leave raw message delivery off")
    return found


def certificate_url(post: Post, secrets: Secrets) -> str:
    """Where its certificate lies: with AWS, in the region of a topic of ours. Raises ForgeryError, MalformedError."""
    found = envelope(post.body)
    region = _region(text(found, "TopicArn"), secrets)
    match = _CERTIFICATE.fullmatch(text(found, "SigningCertURL"))
    if match is None or match[1] != region:
        raise ForgeryError("foreign_certificate", f"SigningCertURL is no certificate of SNS in {region}")
    return match[0]


def _region(topic: str, secrets: Secrets) -> str:
    match = _ARN.fullmatch(topic)
    if match is None or topic not in secrets.get("topics", ()):
        raise ForgeryError("foreign_topic", "TopicArn is not among our topics")
    return match[1]


def check(post: Post, secrets: Secrets, now: datetime) -> None:
    """Check topic, signature and age. Raises ForgeryError, MalformedError."""
    found = envelope(post.body)
    _region(text(found, "TopicArn"), secrets)
    digest = _DIGESTS.get(text(found, "SignatureVersion"))
    if digest is None or not text(found, "Signature"):
        raise ForgeryError("no_signature", "there is no Signature of SignatureVersion 1 or 2")
    try:
        signature = b64decode(text(found, "Signature"), validate=True)
        _key(post.certificate or b"", now).verify(signature, _signed(found), PKCS1v15(), digest())
    except (Base64Error, ValueError, InvalidSignature):
        raise ForgeryError("bad_signature", "the signature does not fit the message and the certificate") from None
    at = moment(text(found, "Timestamp"))
    if at is None:
        raise ForgeryError("bad_timestamp", "Timestamp is no time")
    check_age(at, now, DAY)


def _key(pem: bytes, now: datetime) -> RSAPublicKey:
    certificate: Certificate = load_pem_x509_certificate(pem)
    key = certificate.public_key()
    if not isinstance(key, RSAPublicKey):
        raise ForgeryError("foreign_certificate", "the certificate has no RSA key")
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise ForgeryError("old_certificate", "the certificate is not valid now")
    return key


def _signed(found: Mapping[str, object]) -> bytes:
    names = _MESSAGE if text(found, "Type") == "Notification" else _CONFIRMATION
    return "".join(f"{name}\n{text(found, name)}\n" for name in names if name in found).encode()


def confirmation(post: Post) -> str | None:
    """What to visit so that a topic of ours sends on; None for everything else. Raises ForgeryError."""
    found = envelope(post.body)
    if text(found, "Type") != "SubscriptionConfirmation":
        return None
    url = urlsplit(text(found, "SubscribeURL"))
    asked = parse_qs(url.query)
    host = _HOST.fullmatch(url.netloc)
    wanted = {"Action": ["ConfirmSubscription"], "TopicArn": [text(found, "TopicArn")]}
    if url.scheme != "https" or host is None or any(asked.get(name) != value for name, value in wanted.items()):
        raise ForgeryError("foreign_address", "SubscribeURL is no confirmation of this topic with AWS")
    return url.geturl()
