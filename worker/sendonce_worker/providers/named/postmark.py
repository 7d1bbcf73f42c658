"""Postmark: a single email, or several in one request."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.named_email import PostmarkProvider
from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Call, Credentials
from sendonce_worker.providers.api.batch import BatchApi, Bounds
from sendonce_worker.providers.api.bodies import JSON, MIB, at_most, json_body
from sendonce_worker.providers.api.email import sender_of
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, text
from sendonce_worker.providers.api.table import P, Reading, Row, S, T, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.http1.connection import Answer


class Postmark(BatchApi):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Postmark",
        credentials=("serverToken",),
        keys="None are known: a lost answer is `uncertain`.",
        before="Any `ErrorCode` but 0, also with HTTP 200; 503 with code 100 is maintenance.",
        batch="`/email/batch`, with up to 250 mails and 50 MB (it takes 500; an answer about so many could be longer "
        "than is read). It answers 200 and says of each mail in turn what became of it.",
        sizes="10 MB for the whole request; 5 MB each for text and HTML.",
        pace="None of ours: no figures are published.",
        metadata="`Metadata`: sendonce_delivery.",
        probe="`GET /server` with the token answers 200.",
        source="postmarkapp.com/developer/api/overview, /developer/user-guide/send-email-with-api/batch-emails",
    )
    bounds: ClassVar[Bounds] = Bounds("/email/batch", messages=250, size=50 * MIB)
    table: ClassVar[tuple[Row, ...]] = (
        Row(W, "too many requests", status=(429,)),
        Row(S, "the server token", code="10"),
        Row(S, "the sender signature", code="400|401"),
        Row(S, "no credits, or an account that may not send", code="405|412|413"),
        Row(T, "maintenance: nothing is processed", status=(503,), code="100"),
        Row(P, "the recipient is inactive: bounced, complained or unsubscribed", code="406"),
        Row(P, "the address, or a part of the mail", code="300"),
        Row(P, "refused with a code", status=(200, 422), code=r"[1-9]\d*"),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        block = spec.postmark or PostmarkProvider()
        self.origin = block.base_url or "https://api.postmarkapp.com"
        token = credentials.word("serverToken")
        self.headers = {"X-Postmark-Server-Token": token, "Content-Type": JSON, "Accept": JSON}
        self._stream = block.message_stream

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        return Call("/email", self.part(message))

    def part(self, message: Message, /) -> bytes:
        """See ``BatchApi``."""
        content = message.content
        for part in (content.text, content.html):
            at_most(len((part or "").encode("utf-8", "replace")), 5 * MIB, "bytes of one part", "Postmark")
        parts = {
            "Subject": content.subject,
            "TextBody": content.text,
            "HtmlBody": content.html,
            "ReplyTo": content.reply_to,
            "MessageStream": self._stream,
        }
        request: dict[str, object] = {name: part for name, part in parts.items() if part is not None}
        request |= {"From": sender_of(message), "To": message.to}
        request["Headers"] = [{"Name": name, "Value": value} for name, value in content.headers]
        request["Metadata"] = {"sendonce_delivery": message.delivery_id}
        body = json_body(request)
        at_most(len(body), 10 * MIB, "bytes", "Postmark")
        return body

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        code, message_id = text(found, "ErrorCode"), text(found, "MessageID")
        if answer.status == 200 and code == "0" and message_id:  # noqa: PLR2004 - HTTP
            return Reading(accepted=True, message_id=message_id)
        return Reading(code, text(found, "Message"))


API = Postmark
