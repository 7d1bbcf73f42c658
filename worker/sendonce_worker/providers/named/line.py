"""LINE Messaging API: a push message, with its retry keys."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.named_messaging import LineProvider
from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Call, Credentials
from sendonce_worker.providers.api.bodies import JSON, at_most, json_body, needed_text
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, text
from sendonce_worker.providers.api.table import P, Reading, Row, S, U, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.http1.connection import Answer
from sendonce_worker.providers.http1.statuses import ACCEPTED

LONGEST = 5000
_TAKEN = b"x-line-accepted-request-id"
_KNOWN = "already_accepted"


class Line(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="LINE",
        credentials=("channelAccessToken",),
        keys="`X-Line-Retry-Key`, on the first attempt too, kept for 24 hours, used for 23: a repeat answers "
        "409 with `x-line-accepted-request-id`, which is `sent`.",
        before="4xx but 409; 429 says that nobody was sent to.",
        batch="`multicast` is not used: one key for all, and it does not tell recipients apart.",
        sizes="5,000 UTF-16 units of text.",
        pace="2,000/s per channel.",
        metadata="None: there are no receipts per person.",
        probe="`GET /v2/bot/info` with the token answers 200; `GET /v2/bot/message/quota` tells what is left.",
        source="developers.line.biz (retrying API requests, handling 429 errors, reference)",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(ACCEPTED, "an earlier attempt with this key was accepted: LINE names it", status=(409,), code=_KNOWN),
        Row(S, "the month's messages are used up", status=(429,), words="monthly limit"),
        Row(W, "too many requests, nobody was sent to", status=(429,)),
        Row(S, "the token, or a right that the channel has not", status=(401, 403)),
        Row(P, "no such person here", status=(400,), words="failed to send messages|the property, .?to"),
        Row(P, "the message is refused", status=(400,)),
        Row(U, "the same key is safe to repeat", status=(range(500, 600),)),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        block = spec.line or LineProvider()
        self.origin = block.base_url or "https://api.line.me"
        self.headers = {"Authorization": f"Bearer {credentials.word('channelAccessToken')}", "Content-Type": JSON}
        self.key_window = spec.key_window
        self._silent = {"notificationDisabled": True} if block.notification_disabled else {}

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        words = needed_text(message.content.text, LONGEST, "LINE")
        at_most(len(words.encode("utf-16-le", "replace")) // 2, LONGEST, "UTF-16 units of text", "LINE")
        request = {"to": message.to, "messages": [{"type": "text", "text": words}]} | self._silent
        return Call("/v2/bot/message/push", json_body(request), (("X-Line-Retry-Key", message.key),))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        if answer.status == 200 and "sentMessages" in found:  # noqa: PLR2004 - HTTP
            return Reading(accepted=True, message_id=text(found, "sentMessages", 0, "id"))
        details = text(found, "details", 0, "message")
        words = f"{text(found, 'message')} {details}".strip()
        earlier = answer.header(_TAKEN)
        return Reading(_KNOWN if earlier else "", words, message_id=earlier)


API = Line
