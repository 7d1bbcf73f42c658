"""SendGrid: Mail Send of the v3 API."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Call, Credentials
from sendonce_worker.providers.api.bodies import JSON, MIB, at_most, json_body
from sendonce_worker.providers.api.email import mailbox, sender_of
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, text
from sendonce_worker.providers.api.table import P, Reading, Row, S, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.http1.connection import Answer


class SendGrid(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="SendGrid",
        credentials=("apiKey",),
        keys="None are known: a lost answer is `uncertain`.",
        before="4xx: the whole request is refused.",
        batch="`personalizations` are not used: they share one content, and one refusal is everybody's.",
        sizes="20 MB for the whole request (one page says 30, another 20).",
        pace="None of ours: the figures differ from page to page; 429 names the wait.",
        metadata="`custom_args`: sendonce_delivery.",
        probe="`GET /v3/scopes` with the key answers 200 and lists mail.send.",
        source="www.twilio.com/docs/sendgrid/api-reference (errors, rate limits)",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(W, "too many requests", status=(429,)),
        Row(S, "no credit, key or right; also a block after many bad requests", status=(401, 403, 451)),
        Row(S, "the sender", status=(400,), code=r"from(\..*)?|reply_to(\..*)?"),
        Row(S, "the sender", status=(400,), words="from address|verified sender"),
        Row(P, "the address", status=(400,), code=r"personalizations\.\d+\.to.*"),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        self.origin = (spec.send_grid and spec.send_grid.base_url) or "https://api.sendgrid.com"
        self.headers = {"Authorization": f"Bearer {credentials.word('apiKey')}", "Content-Type": JSON}

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        content = message.content
        parts = (("text/plain", content.text), ("text/html", content.html))
        request: dict[str, object] = {
            "personalizations": [
                {"to": [{"email": message.to}], "custom_args": {"sendonce_delivery": message.delivery_id}}
            ],
            "from": mailbox(sender_of(message), "template.from").to_json(),
            "subject": content.subject or "",
            "content": [{"type": kind, "value": value} for kind, value in parts if value],
        }
        if content.reply_to is not None:
            request["reply_to"] = mailbox(content.reply_to, "template.replyTo").to_json()
        if content.headers:
            request["headers"] = dict(content.headers)
        body = json_body(request)
        at_most(len(body), 20 * MIB, "bytes", "SendGrid")
        return Call("/v3/mail/send", body)

    def read(self, answer: Answer, now: datetime, /) -> Reading:
        """See ``Api``."""
        if answer.status == 202:  # noqa: PLR2004 - its only success
            return Reading(accepted=True, message_id=answer.header(b"x-message-id"))
        found = json_object(answer)
        reset = answer.header(b"x-ratelimit-reset") or ""
        wait = float(reset) - now.timestamp() if reset.isdecimal() else None
        return Reading(text(found, "errors", 0, "field"), text(found, "errors", 0, "message"), wait=wait)


API = SendGrid
