"""Twilio SMS: Programmable Messaging, the Messages resource."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Call, Credentials, needed
from sendonce_worker.providers.api.bodies import FORM, form_body, needed_text
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, text
from sendonce_worker.providers.api.sms import originator
from sendonce_worker.providers.api.table import P, Reading, Row, S, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.http1.connection import Answer

LONGEST = 1600


class Twilio(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Twilio",
        credentials=("apiKeySID", "apiKeySecret"),
        keys="None are known: a lost answer is `uncertain`.",
        before="4xx with a code, and 429, which Twilio says is never processed.",
        batch="There is none.",
        sizes="1,600 characters.",
        pace="None of ours: it depends on the sender (about 1 segment/s for a US long code, unconfirmed) and Twilio "
        "queues; set `limits` to what yours may do.",
        metadata="`delivery` in the query of `statusCallbackURL`, if that is set.",
        probe="`GET /2010-04-01/Accounts/{accountSID}.json` with the API key answers 200.",
        source="twilio-oai (API), www.twilio.com/docs/api/errors",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(W, "too many requests, never processed", code="20429"),
        Row(W, "this sender's queue is full", code="21611", wait=60.0),
        Row(S, "credentials, or an account that may not send", code="20003|20005|10001|30002"),
        Row(S, "the sender is not one of the account's", code="21212|21601|21603|21606|21608|21659|21660|21703|30034"),
        Row(S, "no such account: is accountSID right?", status=(404,)),
        Row(P, "not a number that can get texts", code="21211|21265|21612|21614|21635"),
        Row(P, "the person opted out (STOP)", code="21610"),
        Row(P, "the account may not send to this country", code="21408"),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        block = needed(spec.twilio, "twilio")
        self.origin = block.base_url or "https://api.twilio.com"
        login = credentials.basic(credentials.word("apiKeySID"), credentials.word("apiKeySecret"))
        self.headers = {"Authorization": login, "Content-Type": FORM}
        self._path = f"/2010-04-01/Accounts/{block.account_sid}/Messages.json"
        self._service = block.messaging_service_sid
        self._callback = block.status_callback_url

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        fields = {"To": message.to, "Body": needed_text(message.content.text, LONGEST, "Twilio")}
        if self._service:
            fields["MessagingServiceSid"] = self._service
        else:
            fields["From"] = originator(message)
        if self._callback:
            joint = "&" if "?" in self._callback else "?"
            fields["StatusCallback"] = f"{self._callback}{joint}delivery={message.delivery_id}"
        return Call(self._path, form_body(fields))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        sid = text(found, "sid")
        if answer.status in {200, 201} and sid:
            return Reading(accepted=True, message_id=sid)
        return Reading(text(found, "code"), text(found, "message"))


API = Twilio
