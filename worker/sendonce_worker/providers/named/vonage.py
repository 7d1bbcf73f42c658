"""Vonage: the SMS API, which answers 200 also where it refuses."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Call, Credentials
from sendonce_worker.providers.api.bodies import FORM, form_body, needed_text
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, member, text
from sendonce_worker.providers.api.sms import fits_gsm_7, originator
from sendonce_worker.providers.api.table import P, Reading, Row, S, U, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.http1.connection import Answer

LONGEST = 3200
_OPEN = frozenset({"0", "5", ""})
"""States of a part that was taken, or of which nobody knows."""


class Vonage(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Vonage",
        credentials=("apiKey", "apiSecret"),
        keys="None are known: a lost answer is `uncertain`, and so are parts of which some may have been taken.",
        before="Any status but 0 and 5 for all parts.",
        batch="There is none.",
        sizes="3,200 characters (bound of ours; each part of 153 or 67 is paid for).",
        pace="30/s per API key; US numbers do less.",
        metadata="`client-ref`.",
        probe="`GET /account/get-balance?api_key=…&api_secret=…` answers 200.",
        source="developer.vonage.com/en/api-errors/sms, vonage-sms 1.2.0",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(U, "some parts were taken, or may have been, and others not", code="partial"),
        Row(W, "too many requests", code="1|10"),
        Row(W, "too many requests", status=(429,)),
        Row(U, "an error inside Vonage: it does not say when", code="5"),
        Row(S, "key, secret, signature or a barred account", code="2|4|8|11|14"),
        Row(S, "no credit", code="9"),
        Row(S, "the sender", code="15"),
        Row(P, "the number, or one that may not be sent to", code="3|6|7"),
        Row(P, "too long", code="12"),
        Row(P, "refused with another status", status=(200,), code=r"\d+"),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        self.origin = (spec.vonage and spec.vonage.base_url) or "https://rest.nexmo.com"
        self.headers = {"Content-Type": FORM}
        self._login = {"api_key": credentials.word("apiKey"), "api_secret": credentials.word("apiSecret")}

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        words = needed_text(message.content.text, LONGEST, "Vonage")
        fields = self._login | {
            "from": originator(message).removeprefix("+"),
            "to": message.to.removeprefix("+"),
            "text": words,
            "type": "text" if fits_gsm_7(words) else "unicode",
            "client-ref": message.delivery_id,
        }
        return Call("/sms/json", form_body(fields))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        parts = member(found, "messages")
        states = [text(part, "status") for part in parts] if isinstance(parts, list) else []
        if answer.status == 200 and states and set(states) == {"0"}:  # noqa: PLR2004 - HTTP
            return Reading(accepted=True, message_id=text(found, "messages", 0, "message-id"))
        wrong = next((no for no, state in enumerate(states) if state != "0"), 0)
        words = text(found, "messages", wrong, "error-text")
        partial = len(set(states)) > 1 and not _OPEN.isdisjoint(states)
        return Reading("partial" if partial else (states[wrong] if states else ""), words)


API = Vonage
