"""Telegram: the updates of a bot. There are no receipts of messages; who blocks the bot has kicked it."""

from __future__ import annotations

from datetime import datetime

from sendonce_gateway.receipts.reading import json_object, member, seconds, text
from sendonce_gateway.receipts.signatures import one_fits
from sendonce_gateway.receipts.source import Post, Secrets, Source
from sendonce_store.receipts import Kind, Receipt

_KINDS = {
    "kicked": Kind.BLOCKED,
    "left": Kind.BLOCKED,
    "member": Kind.RETURNED,
    "administrator": Kind.RETURNED,
}


def verify(post: Post, secrets: Secrets, now: datetime) -> None:  # noqa: ARG001 - nothing in it is dated
    """Raise ForgeryError."""
    given = post.header("x-telegram-bot-api-secret-token")
    one_fits(given, secrets.get("secretToken", ()), lambda token: token)


def parse(post: Post) -> list[Receipt]:
    """Read one update; whatever people write is left out. Raises MalformedError."""
    update = json_object(post.body)
    change = member(update, "my_chat_member")
    kind, chat = _KINDS.get(text(change, "new_chat_member", "status")), text(change, "chat", "id")
    if kind is None or not chat:
        return []
    at = seconds(member(change, "date"))
    return [Receipt(kind, text(update, "update_id"), at, address=chat, channel="Telegram")]


SOURCE = Source("Telegram", ("secretToken",), verify, parse)
