"""Web Push: RFC 8030 with payloads by RFC 8291 and VAPID by RFC 8292."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta
from typing import ClassVar

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import SECRET_FIELD, Api, Call, Credentials, needed
from sendonce_worker.providers.api.bodies import at_most, json_body
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.hosts import AllowedHosts
from sendonce_worker.providers.api.lines import origin_of
from sendonce_worker.providers.api.sealing import seal
from sendonce_worker.providers.api.table import P, Reading, Row, S, T, U
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import PermanentSendError, ProviderConfigError
from sendonce_worker.providers.http1.connection import Answer

LARGEST = 3993
_TOKEN_HOURS = 12
_URGENCY = {"VeryLow": "very-low", "Low": "low", "Normal": "normal", "High": "high"}


class WebPush(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Web Push",
        credentials=("vapidPrivateKey",),
        keys="None: a lost answer and 5xx are `uncertain`.",
        before="4xx.",
        batch="There is none.",
        sizes="3,993 bytes of payload (`title`, `body` and `id` as JSON).",
        pace="None of ours: push services publish no figures. 429 holds back the one recipient, not the provider.",
        metadata="`id` of the payload, for the page's service worker.",
        probe="Only a real subscription can tell: the key must be the one that the page subscribed with.",
        source="RFC 8030, 8291, 8292; Mozilla autopush docs errors.md",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(P, "the subscription has ended", status=(404, 410)),
        Row(P, "subscribed with another VAPID key", status=(400, 401, 403), words="do not correspond|mismatch"),
        Row(S, "the VAPID key or its subject", status=(401, 403)),
        Row(P, "too large", status=(413,)),
        Row(T, "this push service is asked too much; others are not", status=(429,)),
        Row(U, "may speak of half a request", status=(408, 409, 423, 424, 499)),
        Row(T, "refused unprocessed", status=(421, 425)),
        Row(P, "this push service refuses", status=(range(300, 500), 501, 505)),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        block = needed(spec.web_push, "webPush")
        self.headers = {
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(block.ttl_seconds),
            "Urgency": _URGENCY[block.urgency.value],
        }
        self._subject = block.subject
        self._hosts = AllowedHosts(block.allowed_hosts)
        self._key = _vapid_key(credentials.text("vapidPrivateKey").strip())
        public = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self._public = urlsafe_b64encode(public).rstrip(b"=").decode("ascii")
        self._tokens: dict[str, tuple[datetime, str]] = {}

    def call(self, message: Message, now: datetime, /) -> Call:
        """See ``Api``."""
        url, receiver, secret = _subscription(message.to)
        self._hosts.check(url)
        parts = {"title": message.content.subject, "body": message.content.text, "id": message.delivery_id}
        plain = json_body({name: part for name, part in parts.items() if part is not None})
        at_most(len(plain), LARGEST, "bytes of payload", "Web Push")
        try:
            sealed = seal(plain, receiver, secret)
        except ValueError as error:
            raise PermanentSendError("bad_address", f"the subscription's key p256dh cannot be used: {error}") from error
        return Call(url, sealed, (("Authorization", f"vapid t={self._token(url, now)}, k={self._public}"),))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        if answer.status in {200, 201, 202}:
            return Reading(accepted=True, message_id=answer.header(b"location"))
        return Reading("", answer.body[:500].decode("utf-8", "replace"))

    def _token(self, url: str, now: datetime) -> str:
        """The token for a push service: made twice a day (RFC 8292, section 2: at most 24 hours)."""
        audience = origin_of(url)
        known = self._tokens.get(audience)
        if known is None or known[0] <= now:
            claims = {"aud": audience, "exp": now + timedelta(hours=2 * _TOKEN_HOURS - 1), "sub": self._subject}
            known = (now + timedelta(hours=_TOKEN_HOURS), jwt.encode(claims, self._key, "ES256"))
            self._tokens[audience] = known
        return known[1]


def _vapid_key(value: str) -> ec.EllipticCurvePrivateKey:
    try:
        if value.startswith("-----"):
            key = load_pem_private_key(value.encode(), None)
        else:
            number = int.from_bytes(_unpadded(value), "big")
            key = ec.derive_private_key(number, ec.SECP256R1())
    except (ValueError, TypeError) as error:
        raise ProviderConfigError(
            SECRET_FIELD, f"vapidPrivateKey is no P-256 key in PEM or base64url: {error}"
        ) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ProviderConfigError(SECRET_FIELD, "vapidPrivateKey must be a key of the curve P-256")
    return key


def _subscription(address: str) -> tuple[str, bytes, bytes]:
    """Take a subscription apart: endpoint, the browser's public key, the shared secret."""
    try:
        found = json.loads(address)
        keys = found["keys"]
        url, receiver, secret = found["endpoint"], _unpadded(keys["p256dh"]), _unpadded(keys["auth"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = "must be the browser's subscription as JSON, with endpoint, keys.p256dh and keys.auth"
        raise PermanentSendError("bad_address", f"the recipient's address {why}") from error
    if not isinstance(url, str) or len(receiver) != 65 or len(secret) != 16:  # noqa: PLR2004 - RFC 8291, section 3
        raise PermanentSendError("bad_address", "the subscription's keys have the wrong length")
    return url, receiver, secret


def _unpadded(value: str) -> bytes:
    return urlsafe_b64decode(value + "=" * (-len(value) % 4))


API = WebPush
