"""Resend: a single email, with its idempotency keys."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Call, Credentials
from sendonce_worker.providers.api.bodies import JSON, MIB, at_most, json_body
from sendonce_worker.providers.api.email import mailboxes, sender_of
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, text
from sendonce_worker.providers.api.table import HOUR, P, Reading, Row, S, U, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.http1.connection import Answer


class Resend(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Resend",
        credentials=("apiKey",),
        keys="`Idempotency-Key`, kept for 24 hours, used for 23: the first answer comes again, and nothing is sent.",
        before="4xx; a 409 is about the key, and Unknown.",
        batch="`/emails/batch` is not used: one key covers all of its mails, so that a lost answer could be repeated "
        "with the very same mails only, also where a person has opted out or a mail was settled meanwhile.",
        sizes="40 MB for the whole request.",
        pace="2/s per team: the lower of the two figures that its pages give.",
        metadata="`tags`: sendonce_delivery.",
        probe="`GET /domains` with a full-access key answers 200; a sending key answers 401 `restricted_api_key`.",
        source="resend.com/docs (idempotency keys, errors, rate limit)",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(W, "the quota is used up", code="daily_quota_exceeded|monthly_quota_exceeded", wait=HOUR),
        Row(W, "too many requests", status=(429,)),
        Row(U, "this key was used with other content: that one may have been taken", code="invalid_idempotent_request"),
        Row(U, "a request with this key is still running", code="concurrent_idempotent_requests", wait=5.0),
        Row(S, "the key, a domain that is not verified, or a suspended team", status=(401, 403)),
        Row(S, "the sender", code="invalid_from_address"),
        Row(P, "the address, or a part of the mail", status=(400, 422), code="validation_error"),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        self.origin = (spec.resend and spec.resend.base_url) or "https://api.resend.com"
        self.headers = {"Authorization": f"Bearer {credentials.word('apiKey')}", "Content-Type": JSON}
        self.key_window = spec.key_window

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        content = message.content
        request: dict[str, object] = {
            "from": sender_of(message),
            "to": [message.to],
            "subject": content.subject or "",
            "tags": [{"name": "sendonce_delivery", "value": message.delivery_id}],
        }
        parts = {"text": content.text, "html": content.html, "headers": dict(content.headers) or None}
        parts["reply_to"] = mailboxes(content.reply_to, "template.replyTo") or None  # type: ignore[assignment]
        request |= {name: part for name, part in parts.items() if part is not None}
        body = json_body(request)
        at_most(len(body), 40 * MIB, "bytes", "Resend")
        return Call("/emails", body, (("Idempotency-Key", message.key),))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        message_id = text(found, "id")
        if answer.status in {200, 201} and message_id:
            return Reading(accepted=True, message_id=message_id)
        return Reading(text(found, "name") or text(found, "type"), text(found, "message"))


API = Resend
