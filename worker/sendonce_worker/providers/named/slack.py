"""Slack: chat.postMessage of the Web API."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Call, Credentials
from sendonce_worker.providers.api.bodies import JSON, json_body, needed_text
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, member, text
from sendonce_worker.providers.api.table import P, Reading, Row, S, U, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.http1.connection import Answer

LONGEST = 40_000


class Slack(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Slack",
        credentials=("botToken",),
        keys="None that is confirmed (`client_msg_id` is not): a lost answer is `uncertain`.",
        before="`ok: false` but internal_error and fatal_error, and 429.",
        batch="There is none.",
        sizes="40,000 characters: Slack would cut the rest off.",
        pace="None of ours: about 1/s per channel, and a cap per workspace that is not published; 429 names the wait.",
        metadata="`metadata`: event sendonce_delivery.",
        probe="`POST /api/auth.test` with the token answers `ok: true`.",
        source="slack_sdk 3.48, docs.slack.dev/apis/web-api/rate-limits",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(W, "too many requests, or messages of the workspace", code="rate_?limited|message_limit_exceeded"),
        Row(W, "too many requests", status=(429,)),
        Row(
            U,
            "Slack can't say whether it posted",
            code="internal_error|fatal_error|request_timeout|service_unavailable",
        ),
        Row(
            S,
            "the token, the app or its rights",
            code="not_authed|invalid_auth|account_inactive|token_(revoked|expired)|missing_scope|access_denied|"
            "accesslimited|ekm_access_denied|org_login_required|no_permission|not_allowed_token_type|team_.*",
        ),
        Row(
            P,
            "no such channel, or the app may not post there",
            code="channel_not_found|not_in_channel|is_archived|restricted_action.*|user_not_found|cannot_dm_bot|"
            "messages_tab_disabled",
        ),
        Row(P, "the content", code="no_text|msg_too_long|msg_blocks_too_long|invalid_blocks.*"),
        Row(P, "Slack says that it did not post", status=(200,), code="[a-z_]+"),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        self.origin = (spec.slack and spec.slack.base_url) or "https://slack.com"
        token = credentials.word("botToken")
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": f"{JSON}; charset=utf-8"}

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        words = needed_text(message.content.text, LONGEST, "Slack")
        mark = {"event_type": "sendonce_delivery", "event_payload": {"id": message.delivery_id}}
        return Call("/api/chat.postMessage", json_body({"channel": message.to, "text": words, "metadata": mark}))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        channel, moment = text(found, "channel"), text(found, "ts")
        if answer.status == 200 and member(found, "ok") is True and moment:  # noqa: PLR2004 - HTTP
            return Reading(accepted=True, message_id=f"{channel}:{moment}")
        # without `ok: false` it is not Slack that says so
        error = text(found, "error") if member(found, "ok") is False else ""
        needs = text(found, "needed")
        return Reading(error, f"{error}, needed: {needs}" if needs else error)


API = Slack
