"""What the frame of the named providers does beyond one far end: tokens, many hosts, TLS, base paths, proxies."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.far_ends.email import PostmarkFace
from tests.far_ends.face import Reply
from tests.far_ends.messaging import LineFace, SlackFace
from tests.far_ends.push import FcmFace, StandardWebhooksFace

from sendonce_worker.providers.api import lines
from sendonce_worker.providers.api.tokens import Token, Tokens
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import Kind, ProviderConfigError, SendError
from sendonce_worker.providers.http1.connection import Answer, AnswerLostError
from sendonce_worker.providers.registry import build_provider

if TYPE_CHECKING:
    from tests.integration.providers.conftest import HttpFarEnd

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])


def clear() -> None:
    """Let everything through."""


class Counter:
    """A grant whose tokens are numbered."""

    url = "https://example.com/token"

    def __init__(self, seconds: float) -> None:
        self.asked = 0
        self._seconds = seconds

    def request(self, now: object) -> bytes:
        return b"grant"

    def read(self, answer: Answer) -> Token:
        self.asked += 1
        return Token(f"t{self.asked}", self._seconds)


async def nothing(body: bytes) -> Answer:
    await asyncio.sleep(0)
    return Answer(200, [], b"", complete=True)


async def test_one_token_serves_all_who_wait_for_it() -> None:
    grant = Counter(3600)
    tokens = Tokens(grant, nothing)
    assert set(await asyncio.gather(*(tokens.get() for _ in range(50)))) == {"t1"}
    assert grant.asked == 1


async def test_all_who_wait_for_a_token_share_the_failure_and_the_next_one_asks_anew() -> None:
    asked, over = 0, asyncio.Event()

    async def hanging(body: bytes) -> Answer:
        nonlocal asked
        asked += 1
        await over.wait()
        raise AnswerLostError("timeout", "no answer within the time-out")

    tokens = Tokens(Counter(3600), hanging)
    waiting = [asyncio.ensure_future(tokens.get()) for _ in range(50)]
    await asyncio.sleep(0)
    waiting.pop().cancel()  # whoever gives up takes nobody with it
    await asyncio.sleep(0)
    over.set()
    errors = await asyncio.gather(*waiting, return_exceptions=True)
    assert [error.code for error in errors if isinstance(error, SendError)] == ["token_failed"] * 49
    assert asked == 1
    with pytest.raises(SendError):
        await tokens.get()
    assert asked == 2


async def test_a_fresh_token_that_is_refused_points_to_the_account_and_is_kept() -> None:
    tokens = Tokens(Counter(3600), nothing)
    token = await tokens.get()
    assert not tokens.drop(token)
    assert await tokens.get() == token
    assert tokens.drop("an earlier one"), "another has come since"


async def test_a_token_that_ended_is_replaced_and_the_message_tried_again_later(
    http_far_end: HttpFarEnd, build_message: Callable[..., Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    face = FcmFace(http_far_end.port)
    http_far_end.respond = lambda request: face.respond(request).encoded()
    provider = build_provider(face.spec(), face.secret())
    message = build_message(to=face.good_to, channel="Push", **face.content)
    await provider.send(message, clear)
    face.tokens.append("revoked-at-the-far-end")
    monkeypatch.setattr("sendonce_worker.providers.api.tokens.FRESH", -1.0)
    with pytest.raises(SendError) as caught:
        await provider.send(message, clear)
    assert (caught.value.kind, caught.value.code) == (Kind.TEMPORARY, "token_ended")
    await provider.send(message, clear)
    assert len(face.taken) == 2
    await provider.aclose()


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(503, b"busy"), Kind.TEMPORARY),
        (Reply(429, b"slow", ("Retry-After: 90",)), Kind.RATE_LIMITED),
        (Reply(200, b"<html>"), Kind.TEMPORARY),
        (Reply(400, {"error": "invalid_grant", "error_description": "gone"}), Kind.ACCOUNT),
        (Reply(403, {"error": "access_denied"}), Kind.ACCOUNT),
        (None, Kind.TEMPORARY),
    ],
)
async def test_without_a_token_nothing_was_accepted(
    http_far_end: HttpFarEnd, build_message: Callable[..., Message], do: Any, reply: Reply | None, kind: Kind
) -> None:
    face = FcmFace(http_far_end.port)
    http_far_end.will(reply.encoded() if reply else do.RESET)
    provider = build_provider(face.spec(), face.secret())
    with pytest.raises(SendError) as caught:
        await provider.send(build_message(to=face.good_to, channel="Push", **face.content), clear)
    assert caught.value.kind is kind
    assert caught.value.is_outage is (kind is Kind.TEMPORARY), "no recipient is at fault: no attempt may be used up"
    assert caught.value.retry_after == (90 if kind is Kind.RATE_LIMITED else None)
    assert [request.line for request in http_far_end.requests] == ["POST /token HTTP/1.1"]
    await provider.aclose()


async def test_a_base_url_may_have_a_path(http_far_end: HttpFarEnd, build_message: Callable[..., Message]) -> None:
    spec = SlackFace(http_far_end.port).spec(slack={"baseURL": f"http://127.0.0.1:{http_far_end.port}/double/slack/"})
    http_far_end.respond = lambda request: Reply(200, {"ok": True, "channel": "C", "ts": "1.2"}).encoded()
    provider = build_provider(spec, SlackFace().secret())
    accepted = await provider.send(build_message(to="C", channel="Slack", **SlackFace.content), clear)
    assert accepted.message_id == "C:1.2"
    assert http_far_end.requests[0].line == "POST /double/slack/api/chat.postMessage HTTP/1.1"
    await provider.aclose()


async def test_a_certificate_that_is_not_trusted_stops_the_message(
    http_far_end: HttpFarEnd, server_tls: ssl.SSLContext, ca: bytes, build_message: Callable[..., Message]
) -> None:
    port = await http_far_end.listen(server_tls)
    face = LineFace(port)
    http_far_end.respond = lambda request: face.respond(request).encoded()
    spec = face.spec(line={"baseURL": f"https://127.0.0.1:{port}"})
    message = build_message(to=face.good_to, channel="Line", **face.content)
    doubtful = build_provider(spec, face.secret())
    with pytest.raises(SendError) as caught:
        await doubtful.send(message, clear)
    assert (caught.value.kind, caught.value.code) == (Kind.TEMPORARY, "tls_not_trusted")
    assert not face.taken
    trusting = build_provider(spec, face.secret(), ca)
    await trusting.send(message, clear)
    assert len(face.taken) == 1
    await trusting.aclose()


async def test_a_proxy_of_the_environment_is_used(
    http_far_end: HttpFarEnd, build_message: Callable[..., Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{http_far_end.port}")
    monkeypatch.setenv("NO_PROXY", "elsewhere.example")
    http_far_end.respond = lambda request: Reply(200, {"ErrorCode": 0, "MessageID": "m"}).encoded()
    spec = PostmarkFace().spec(postmark={"baseURL": "http://127.0.0.1:1/pm"})
    provider = build_provider(spec, PostmarkFace().secret())
    await provider.send(build_message(**PostmarkFace.content), clear)
    assert http_far_end.requests[0].line == "POST http://127.0.0.1:1/pm/email HTTP/1.1"
    await provider.aclose()


async def test_connections_are_kept_to_a_bounded_number_of_hosts(
    http_far_end: HttpFarEnd, build_message: Callable[..., Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_ORIGINS", 2)
    faces = [
        StandardWebhooksFace(http_far_end.port),
        *[StandardWebhooksFace(await http_far_end.listen()) for _ in range(3)],
    ]
    http_far_end.respond = lambda request: Reply(204).encoded()
    provider = build_provider(faces[0].spec(), faces[0].secret())
    for face in [*faces, *faces]:
        await provider.send(build_message(to=face.to(), channel="Webhook", **face.content), clear)
    assert len(http_far_end.requests) == 8
    await http_far_end.until(lambda: http_far_end.open_connections == 2)
    await provider.aclose()
    await http_far_end.until(lambda: http_far_end.open_connections == 0)


async def test_a_webhook_takes_a_json_object_as_its_data(
    http_far_end: HttpFarEnd, build_message: Callable[..., Message]
) -> None:
    face = StandardWebhooksFace(http_far_end.port)
    http_far_end.respond = lambda request: Reply(204).encoded()
    provider = build_provider(face.spec(), face.secret())
    for text in ('{"order": 7, "name": "Ann"}', "{not json", "[1]"):
        content = face.content | {"text": text}
        await provider.send(build_message(to=face.to(), channel="Webhook", **content), clear)
    data = [json.loads(request.body)["data"] for request in http_far_end.requests]
    assert data[0] == {"id": "7-3", "order": 7, "name": "Ann"}
    assert data[1] == {"id": "7-3", "subject": "Sale", "text": "{not json"}
    assert data[2]["text"] == "[1]"
    await provider.aclose()


async def test_a_service_account_whose_token_address_is_no_url_is_refused_at_the_start() -> None:
    face = FcmFace(1)
    with pytest.raises(ProviderConfigError, match="address for access tokens"):
        build_provider(face.spec(), {"serviceAccount": face.account(token_uri="file:///etc/passwd")})
