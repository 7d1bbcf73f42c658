"""HTTP on the wire: what is sent, which answers end a connection, and secrets in answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import Kind, SendError
from sendonce_worker.providers.http_api.provider import HttpProvider, HttpSettings
from sendonce_worker.providers.registry import build_provider

if TYPE_CHECKING:
    from tests.integration.providers.conftest import FarEnd, HttpFarEnd


def clear() -> None:
    """Let everything through."""


def build(far_end: FarEnd, secrets: dict[str, bytes] | None = None, **settings: Any) -> HttpProvider:
    plain: dict[str, Any] = {"url": f"http://127.0.0.1:{far_end.port}/v1", "timeout": 5.0}
    return HttpProvider(HttpSettings(**(plain | settings)), secrets or {})


async def refused(provider: HttpProvider, message: Message) -> SendError:
    with pytest.raises(SendError) as caught:
        await provider.send(message, clear)
    return caught.value


async def test_a_request_as_the_spec_says_it(http_far_end: HttpFarEnd, message: Message) -> None:
    spec = ProviderSpec.from_wire(
        {
            "type": "HTTP",
            "credentialsSecretRef": {"name": "api"},
            "http": {
                "url": f"http://127.0.0.1:{http_far_end.port}/v1/{{{{ to }}}}/messages?shop=7",
                "method": "PUT",
                "headers": {"Authorization": "Bearer {{ secret.token }}", "X-Delivery": "{{ delivery_id }}"},
                "bodyTemplate": '{"subject": "{{ subject }}", "to": [{"name": "{{ name }}"}]}',
                "messageIdPath": "id",
                "idempotencyKeyHeader": "Idempotency-Key",
                "keyWindowSeconds": 86400,
            },
        }
    )
    provider = build_provider(spec, {"token": b"s3cret-token"})
    assert provider.key_window == 86400
    assert await provider.send(message, clear) == Accepted("m-1", "200")
    request = http_far_end.requests[0]
    assert request.line == "PUT /v1/ann%40example.org/messages?shop=7 HTTP/1.1"
    assert request.headers["Authorization"] == "Bearer s3cret-token"
    assert request.headers["X-Delivery"] == "7-3"
    assert request.headers["Idempotency-Key"] == message.key
    assert request.headers["Content-Type"] == "application/json"
    assert request.body == b'{"subject":"Hello","to":[{"name":"Ann"}]}'
    await provider.aclose()


async def test_the_key_rides_on_every_attempt_and_the_bytes_are_the_same(
    http_far_end: HttpFarEnd, http_answer: Callable[..., bytes], message: Message
) -> None:
    provider = build(http_far_end, key_header="X-Retry-Key", key_window=60)
    http_far_end.will(http_answer(500))
    assert (await refused(provider, message)).kind is Kind.UNKNOWN
    await provider.send(replace(message, maybe_accepted=True), clear)
    first, second = http_far_end.requests
    assert first == second
    assert first.headers["X-Retry-Key"] == message.key


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["Connection: close", "HTTP/1.0", "an answer too many"],
)
async def test_an_acceptance_after_which_the_connection_is_not_used_again(
    http_far_end: HttpFarEnd, message: Message, answer: bytes
) -> None:
    provider = build(http_far_end)
    http_far_end.will(answer)
    await provider.send(message, clear)
    await provider.send(message, clear)
    assert http_far_end.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"id"\r\n6\r\n: "a"}\r\n0\r\n\r\n',
        b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"id": "a"}',
    ],
    ids=["chunked", "after an interim answer"],
)  # fmt: skip
async def test_the_forms_an_answer_can_take(http_far_end: HttpFarEnd, message: Message, answer: bytes) -> None:
    provider = build(http_far_end, message_id_path="id")
    for _ in range(2):
        http_far_end.will(answer)
        assert (await provider.send(message, clear)).message_id == "a"
    assert http_far_end.connections == 1


async def test_an_answer_without_length_ends_with_its_connection(
    http_far_end: HttpFarEnd, do: Any, message: Message
) -> None:
    provider = build(http_far_end, message_id_path="id")
    http_far_end.will(b'HTTP/1.1 200 OK\r\n\r\n{"id": "a"}', do.CLOSE)
    assert (await provider.send(message, clear)).message_id == "a"


@pytest.mark.parametrize("ending", ["CLOSE", "RESET"])
async def test_a_success_whose_body_was_cut_is_unknown_a_refusal_stays_one(
    http_far_end: HttpFarEnd, do: Any, message: Message, ending: str
) -> None:
    provider = build(http_far_end)
    http_far_end.will(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", do[ending])
    assert (await refused(provider, message)).code == "answer_cut"
    http_far_end.will(b"HTTP/1.1 400 No\r\nContent-Length: 50\r\n\r\n{", do[ending])
    assert (await refused(provider, message)).kind is Kind.PERMANENT


async def test_a_redirect_is_not_followed(
    http_far_end: HttpFarEnd, http_answer: Callable[..., bytes], message: Message
) -> None:
    http_far_end.will(http_answer(307, b"", "Location: /elsewhere"))
    assert (await refused(build(http_far_end), message)).kind is Kind.ACCOUNT
    assert len(http_far_end.requests) == 1


async def test_a_switch_of_protocols_and_endless_headers_are_garbage(
    http_far_end: HttpFarEnd, message: Message
) -> None:
    provider = build(http_far_end)
    http_far_end.will(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
    assert (await refused(provider, message)).kind is Kind.UNKNOWN
    http_far_end.will(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 50_000)
    assert (await refused(provider, message)).code == "garbage_answer"


async def test_the_far_ends_own_idle_time_out_is_respected(
    http_far_end: HttpFarEnd, http_answer: Callable[..., bytes], message: Message
) -> None:
    provider = build(http_far_end)
    http_far_end.will(http_answer(200, b"", "Keep-Alive: timeout=1"))
    await provider.send(message, clear)
    await provider.send(message, clear)
    assert http_far_end.connections == 2, "one second, less the second it may take to arrive"


async def test_a_secret_in_the_far_ends_words_is_blotted_out(
    http_far_end: HttpFarEnd, http_answer: Callable[..., bytes], message: Message
) -> None:
    provider = build(http_far_end, {"token": b"s3cret-token"}, headers={"Authorization": "Bearer {{ secret.token }}"})
    http_far_end.will(http_answer(401, b'{"message": "Bearer s3cret-token is not known"}'))
    assert (await refused(provider, message)).message == "401 Bearer *** is not known"


async def test_a_line_break_in_a_header_of_the_message_is_refused_before_anything_is_sent(
    http_far_end: HttpFarEnd, message: Message
) -> None:
    provider = build(http_far_end, headers={"X-Name": "{{ name }}"})
    error = await refused(provider, replace(message, variables={"name": "Ann\r\nX-Admin: yes"}))
    assert (error.kind, error.code) == (Kind.PERMANENT, "header_injection")
    assert http_far_end.connections == 0


async def test_an_error_of_the_clearance_itself_is_reported_as_a_bug_and_sends_nothing(
    http_far_end: HttpFarEnd, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(SendError) as caught:
        await build(http_far_end).send(message, broken)
    assert (caught.value.kind, caught.value.code) == (Kind.TEMPORARY, "internal_error")
    assert "ZeroDivisionError" in caplog.text
    assert not http_far_end.requests


async def test_idle_connections_are_closed_after_a_while(http_far_end: HttpFarEnd, message: Message) -> None:
    provider = build(http_far_end)
    provider._client._pool._idle_seconds = 0.05  # noqa: SLF001 - four seconds are too long for a test
    await provider.send(message, clear)
    await http_far_end.until(lambda: http_far_end.open_connections == 0)
