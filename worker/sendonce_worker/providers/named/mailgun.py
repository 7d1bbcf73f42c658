"""Mailgun: the Messages API."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Call, Credentials, needed
from sendonce_worker.providers.api.bodies import FORM, MIB, at_most, form_body
from sendonce_worker.providers.api.email import sender_of
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, text
from sendonce_worker.providers.api.table import P, Reading, Row, S, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.http1.connection import Answer

OPTIONS = 16 * 1024


class Mailgun(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Mailgun",
        credentials=("apiKey",),
        keys="None are known: a lost answer is `uncertain`.",
        before="4xx: nobody was sent to.",
        batch="`recipient-variables` are not used: they share one content and one id, and one refusal is everybody's.",
        sizes="25 MB for the mail, 16 KB for headers and metadata.",
        pace="None of ours: no figures are published.",
        metadata="`v:sendonce-delivery`.",
        probe="`GET /v3/domains/{domain}` with the key answers 200.",
        source="documentation.mailgun.com (responses, sending)",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(W, "too many requests", status=(429,)),
        Row(S, "the sender", status=(400,), words="'?from'? (parameter|address)"),
        Row(S, "key, domain or sandbox", status=(401, 402, 403)),
        Row(S, "no such domain here: is it in the other region (baseURL)?", status=(404,)),
        Row(P, "the address", status=(400,), words="not a valid address"),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        block = needed(spec.mailgun, "mailgun")
        self.origin = block.base_url or "https://api.mailgun.net"
        login = credentials.basic("api", credentials.word("apiKey"))
        self.headers = {"Authorization": login, "Content-Type": FORM}
        self._path = f"/v3/{block.domain}/messages"

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        content = message.content
        options = {f"h:{name}": value for name, value in content.headers}
        if content.reply_to is not None:
            options["h:Reply-To"] = content.reply_to
        options["v:sendonce-delivery"] = message.delivery_id
        at_most(len(form_body(options)), OPTIONS, "bytes of headers", "Mailgun")
        parts = {"subject": content.subject, "text": content.text, "html": content.html}
        fields = {"from": sender_of(message), "to": message.to}
        fields |= {name: part for name, part in parts.items() if part is not None}
        body = form_body(fields | options)
        at_most(len(body), 25 * MIB, "bytes", "Mailgun")
        return Call(self._path, body)

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        message_id = text(found, "id")
        if answer.status == 200 and message_id:  # noqa: PLR2004 - HTTP
            return Reading(accepted=True, message_id=message_id)
        return Reading("", text(found, "message"))


API = Mailgun
