"""Telegram: sendMessage of the Bot API."""

from __future__ import annotations

import re
from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Call, Credentials
from sendonce_worker.providers.api.bodies import JSON, json_body, needed_text
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, member, seconds, text
from sendonce_worker.providers.api.table import P, Reading, Row, S, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import ProviderConfigError
from sendonce_worker.providers.http1.connection import Answer

LONGEST = 4096
_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")


class Telegram(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Telegram",
        credentials=("botToken",),
        keys="None: a lost answer is `uncertain`.",
        before="`ok: false` with 4xx.",
        batch="There is none.",
        sizes="1 to 4,096 characters.",
        pace="30/s per bot; beside it about 1/s per chat and 20 a minute per group, which 429 enforces with its wait.",
        metadata="None: there are no receipts.",
        probe="`GET /bot<token>/getMe` answers `ok: true`.",
        source="core.telegram.org/bots/api, /bots/faq; tdlib/telegram-bot-api",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(W, "too many requests", status=(429,)),
        Row(S, "the token", status=(401, 404)),
        Row(P, "the person blocked the bot, is gone, or the bot is not in the chat", status=(403,)),
        Row(P, "no such chat", status=(400,), words="chat not found|user not found"),
        Row(P, "the group has another id now", status=(400,), words="upgraded to a supergroup"),
        Row(P, "the content", status=(400,)),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        self.origin = (spec.telegram and spec.telegram.base_url) or "https://api.telegram.org"
        self.headers = {"Content-Type": JSON}
        token = credentials.word("botToken")
        if not _TOKEN.fullmatch(token):
            raise ProviderConfigError("credentialsSecretRef", "botToken must look like 123456:ABC-DEF")
        self._path = f"/bot{token}/sendMessage"

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        words = needed_text(message.content.text, LONGEST, "Telegram")
        return Call(self._path, json_body({"chat_id": message.to, "text": words}))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        message_id = text(found, "result", "message_id")
        if answer.status == 200 and member(found, "ok") is True and message_id:  # noqa: PLR2004 - HTTP
            return Reading(accepted=True, message_id=message_id)
        moved = text(found, "parameters", "migrate_to_chat_id")
        words = text(found, "description") + (f" (its new id: {moved})" if moved else "")
        return Reading(text(found, "error_code"), words, wait=seconds(found, "parameters", "retry_after"))


API = Telegram
