"""Signed webhooks: the Standard Webhooks specification."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, b64encode
from datetime import datetime
from hashlib import sha256
from typing import ClassVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import SECRET_FIELD, Api, Call, Credentials, needed
from sendonce_worker.providers.api.bodies import JSON, at_most, json_body
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.hosts import AllowedHosts
from sendonce_worker.providers.api.table import P, Reading, Row, T, U
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import ProviderConfigError
from sendonce_worker.providers.http1.connection import Answer

LARGEST = 20_000


class StandardWebhooks(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Standard Webhooks",
        credentials=("signingSecret",),
        keys="`webhook-id`, the same on every attempt: as long as `keyWindowSeconds` says that all receivers drop one "
        "that they had; without it a lost answer is `uncertain`.",
        before="4xx but 408, 409, 423 and 424; 429.",
        batch="There is none.",
        sizes="20,000 bytes of payload.",
        pace="None of ours. An answer concerns its own recipient only: 429 and 401 hold back nobody else.",
        metadata="`data.id` of the payload.",
        probe="Only a receiver can tell: it checks the signature with the same secret.",
        source="standard-webhooks/standard-webhooks, spec/standard-webhooks.md",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(T, "this receiver is asked too much; others are not", status=(429,)),
        Row(P, "the endpoint is gone", status=(404, 410)),
        Row(P, "redirects are not followed: the endpoint has moved", status=(range(300, 400),)),
        Row(U, "may speak of an earlier attempt, or of half a request", status=(408, 409, 423, 424, 499)),
        Row(T, "refused unprocessed", status=(421, 425)),
        Row(P, "this receiver refuses", status=(range(400, 500), 501, 505)),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        block = needed(spec.standard_webhooks, "standardWebhooks")
        self.headers = {"Content-Type": JSON}
        self.key_window = spec.key_window
        self._hosts = AllowedHosts(block.allowed_hosts)
        self._type = block.event_type
        old = credentials.word_or_none("oldSigningSecret")
        self._keys = [_key("signingSecret", credentials.word("signingSecret"))]
        self._keys += [_key("oldSigningSecret", old)] if old else []

    def call(self, message: Message, now: datetime, /) -> Call:
        """See ``Api``."""
        url = self._hosts.check(message.to)
        payload = {"type": self._type, "timestamp": message.date.isoformat(), "data": _data(message)}
        body = json_body(payload)
        at_most(len(body), LARGEST, "bytes of payload", "a Standard Webhooks receiver")
        moment = str(int(now.timestamp()))
        signatures = [signature(key, message.key, moment, body) for key in self._keys]
        headers = {"webhook-id": message.key, "webhook-timestamp": moment, "webhook-signature": " ".join(signatures)}
        return Call(url, body, tuple(headers.items()))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        if answer.status in range(200, 300):
            return Reading(accepted=True)
        return Reading("", answer.body[:500].decode("utf-8", "replace"))


def signature(key: bytes, message_id: str, moment: str, body: bytes) -> str:
    """Return one signature, of the kind v1: HMAC-SHA256."""
    signed = f"{message_id}.{moment}.".encode() + body
    return f"v1,{b64encode(hmac.digest(key, signed, sha256)).decode('ascii')}"


def _data(message: Message) -> dict[str, object]:
    """Take a text that is a JSON object for the data; any other text, and the subject, are parts of it."""
    text = message.content.text or ""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        found = {"subject": message.content.subject, "text": text}
        found = {name: part for name, part in found.items() if part is not None}
    return {"id": message.delivery_id} | found


def _key(name: str, value: str) -> bytes:
    try:
        key = b64decode(value.removeprefix("whsec_"), validate=True)
    except ValueError as error:
        raise ProviderConfigError(SECRET_FIELD, f"{name} must be whsec_ and base64") from error
    if not 24 <= len(key) <= 64:  # noqa: PLR2004 - the specification's bounds
        raise ProviderConfigError(SECRET_FIELD, f"{name} has {len(key)} bytes; 24 to 64 are needed")
    return key


API = StandardWebhooks
