"""LINE: the webhook of a channel. There are no receipts of messages; who blocks the account stops following it."""

from __future__ import annotations

from datetime import datetime

from sendonce_gateway.receipts.reading import json_object, member, seconds, text
from sendonce_gateway.receipts.signatures import base64_hmac, one_fits
from sendonce_gateway.receipts.source import Post, Secrets, Source
from sendonce_store.receipts import Kind, Receipt

_KINDS = {"unfollow": Kind.BLOCKED, "follow": Kind.RETURNED}


def verify(post: Post, secrets: Secrets, now: datetime) -> None:  # noqa: ARG001 - it redelivers for long
    """Raise ForgeryError."""
    given = post.header("x-line-signature")
    one_fits(given, secrets.get("channelSecret", ()), lambda key: base64_hmac(key.encode(), post.body, "sha256"))


def parse(post: Post) -> list[Receipt]:
    """Read the events of one request. Raises MalformedError."""
    events = member(json_object(post.body), "events")
    return [
        Receipt(
            _KINDS[text(event, "type")],
            text(event, "webhookEventId"),
            seconds(member(event, "timestamp")),
            address=text(event, "source", "userId"),
            channel="Line",
        )
        for event in (events if isinstance(events, list) else [])
        if text(event, "type") in _KINDS and text(event, "source", "userId")
    ]


SOURCE = Source("LINE", ("channelSecret",), verify, parse)
