"""What every provider must do, whatever it talks to: one suite, run against all of them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from sendonce_worker.providers.base import Accepted, Message, Provider
from sendonce_worker.providers.errors import HandOffRefusedError, Kind, SendError
from sendonce_worker.providers.http_api.answers import compile_rule
from sendonce_worker.providers.http_api.provider import HttpProvider, HttpSettings
from sendonce_worker.providers.smtp.provider import SmtpProvider, SmtpSettings

if TYPE_CHECKING:
    from tests.integration.providers.conftest import FarEnd, HttpFarEnd, SmtpFarEnd

WINDOW = 600


def clear() -> None:
    """Let everything through."""


class HttpSide:
    """The HTTP provider and its far end."""

    keyed = True

    def __init__(self, far_end: HttpFarEnd, http_answer: Callable[..., bytes], do: Any) -> None:
        self.far_end = far_end
        self.answer = http_answer
        self.do = do
        far_end.window = WINDOW if self.keyed else None

    def build(
        self,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        tls: bool = False,
        ca: bytes | None = None,
        timeout: float = 5.0,
    ) -> Provider:
        settings = HttpSettings(
            f"{'https' if tls else 'http'}://{host}:{port or self.far_end.port}/v1/messages",
            message_id_path="id",
            rules=(compile_rule(503, "warming_up", "Transient"),),
            key_header="Idempotency-Key" if self.keyed else None,
            key_window=WINDOW if self.keyed else None,
            ca=ca,
            timeout=timeout,
            max_in_flight=4,
        )
        return HttpProvider(settings, {})

    def script(self, situation: str) -> None:
        answer = self.answer
        steps: dict[str, tuple[Any, ...]] = {
            "permanent": (answer(422, b'{"code": "bad_to", "message": "no such user"}'),),
            "account": (answer(401, b'{"code": "bad_token", "message": "who are you"}'),),
            "throttled": (answer(429, b'{"code": "slow", "message": "too fast"}'),),
            "throttled with a wait": (answer(429, b"", "Retry-After: 92"),),
            "transient": (answer(503, b'{"code": "warming_up", "message": "soon"}'),),
            "hangs after the message": (self.do.HANG,),
            "closes after the message": (self.do.CLOSE,),
            "resets after the message": (self.do.RESET,),
            "resets half-way through the answer": (b"HTTP/1.1 200 OK\r\nContent-Le", self.do.RESET),
            "answers garbage": (b"\x00\xffwhat is this\r\n\r\n",),
            "answers too much": (answer(200, b"x" * 2_000_000),),
        }
        self.far_end.will(*steps[situation])

    @property
    def handed_over(self) -> int:
        return len(self.far_end.requests)


class UnkeyedHttpSide(HttpSide):
    keyed = False


class SmtpSide:
    """The SMTP provider and its far end."""

    keyed = False

    def __init__(self, far_end: SmtpFarEnd, http_answer: Callable[..., bytes], do: Any) -> None:
        self.far_end = far_end
        self.do = do

    def build(
        self,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        tls: bool = False,
        ca: bytes | None = None,
        timeout: float = 5.0,
    ) -> Provider:
        settings = SmtpSettings(
            host,
            port or self.far_end.port,
            "TLS" if tls else "None",
            ca=ca,
            timeout=timeout,
            patience=timeout,
            max_in_flight=4,
        )
        return SmtpProvider(settings, {})

    def script(self, situation: str) -> None:
        steps: dict[str, tuple[str, Any]] = {
            "permanent": ("RCPT", (b"550 5.1.1 no such user\r\n",)),
            "account": ("MAIL", (b"530 5.7.0 who are you\r\n",)),
            "throttled": ("RCPT", (b"550 5.4.5 Daily sending quota exceeded\r\n",)),
            "throttled with a wait": ("RCPT", (b"550 Too many messages. Try again in 92 seconds\r\n",)),
            "transient": ("RCPT", (b"450 4.2.0 soon\r\n",)),
            "hangs after the message": ("DOT", (self.do.HANG,)),
            "closes after the message": ("DOT", (self.do.CLOSE,)),
            "resets after the message": ("DOT", (self.do.RESET,)),
            "resets half-way through the answer": ("DOT", (b"250 2.0", self.do.RESET)),
            "answers garbage": ("DOT", (b"\x00\xffwhat is this\r\n\r\n",)),
            "answers too much": ("DOT", (b"250-" + b"x" * 2_000_000,)),
        }
        verb, script = steps[situation]
        self.far_end.will(verb, *script)

    @property
    def handed_over(self) -> int:
        return len([line for line in self.far_end.commands if line.startswith("MAIL")])


Side = HttpSide | SmtpSide


@pytest.fixture(params=[HttpSide, UnkeyedHttpSide, SmtpSide], ids=["HTTP keyed", "HTTP unkeyed", "SMTP"])
def side(request: pytest.FixtureRequest, http_answer: Callable[..., bytes], do: Any) -> Side:
    name = "smtp_far_end" if request.param is SmtpSide else "http_far_end"
    made: Side = request.param(request.getfixturevalue(name), http_answer, do)
    return made


@pytest.fixture
async def provider(side: Side) -> AsyncIterator[Provider]:
    built = side.build()
    yield built
    await built.aclose()


async def refused(provider: Provider, message: Message) -> SendError:
    with pytest.raises(SendError) as caught:
        await provider.send(message, clear)
    assert len(caught.value.message) <= 500
    return caught.value


async def test_an_acceptance_gives_the_far_ends_words_and_an_id(
    side: Side, provider: Provider, message: Message
) -> None:
    accepted = await provider.send(message, clear)
    assert isinstance(accepted, Accepted)
    assert accepted.detail.startswith("2")
    assert accepted.message_id


async def test_messages_share_a_connection_and_arrive_once_each(
    side: Side, provider: Provider, message: Message
) -> None:
    for number in range(5):
        await provider.send(replace(message, key=f"key-{number}"), clear)
    assert side.far_end.connections == 1
    assert side.handed_over == 5


@pytest.mark.parametrize(
    ("situation", "kind"),
    [
        ("permanent", Kind.PERMANENT),
        ("account", Kind.ACCOUNT),
        ("throttled", Kind.RATE_LIMITED),
        ("throttled with a wait", Kind.RATE_LIMITED),
        ("transient", Kind.TEMPORARY),
    ],
)
async def test_a_refusal_is_classified_keeps_the_words_and_the_connection(
    side: Side, provider: Provider, message: Message, situation: str, kind: Kind
) -> None:
    side.script(situation)
    error = await refused(provider, message)
    assert error.kind is kind
    assert error.retry_after == (92 if situation == "throttled with a wait" else None)
    assert error.code
    side.far_end.calm()
    await provider.send(message, clear)
    assert side.far_end.connections == 1


@pytest.mark.parametrize(
    "situation",
    [
        "closes after the message",
        "resets after the message",
        "resets half-way through the answer",
        "answers garbage",
        "answers too much",
    ],
)
async def test_a_broken_answer_is_unknown_and_its_connection_is_not_used_again(
    side: Side, provider: Provider, message: Message, situation: str
) -> None:
    side.script(situation)
    error = await refused(provider, message)
    assert error.kind is Kind.UNKNOWN
    assert side.handed_over == 1, "a provider tries once"
    side.far_end.calm()
    await provider.send(replace(message, key="another"), clear)
    assert side.far_end.connections == 2


async def test_a_time_out_after_the_first_byte_is_unknown(side: Side, message: Message) -> None:
    provider = side.build(timeout=1.0)
    side.script("hangs after the message")
    error = await refused(provider, message)
    assert error.code == "timeout"
    assert error.kind is Kind.UNKNOWN
    assert side.handed_over == 1


async def test_a_time_out_before_the_first_byte_is_no_acceptance(
    side: Side, silent_far_end: FarEnd, message: Message
) -> None:
    provider = side.build(port=silent_far_end.port, tls=True, timeout=0.3)
    async with asyncio.timeout(2):
        error = await refused(provider, message)
    assert error.kind is Kind.TEMPORARY
    assert error.code == "connect_timeout"


async def test_a_refused_connection_is_no_acceptance(side: Side, unused_port: int, message: Message) -> None:
    provider = side.build(port=unused_port)
    for _ in range(6):
        error = await refused(provider, message)
        assert (error.kind, error.code) == (Kind.TEMPORARY, "connect_failed"), "a failed connection frees its slot"


async def test_a_name_that_does_not_resolve_is_no_acceptance_and_is_named(side: Side, message: Message) -> None:
    error = await refused(side.build(host="nobody.invalid"), message)
    assert (error.kind, error.code) == (Kind.TEMPORARY, "name_not_resolved")
    assert "nobody.invalid" in error.message


async def test_a_certificate_that_is_not_trusted_stops_the_message(
    side: Side, server_tls: ssl.SSLContext, message: Message
) -> None:
    port = await side.far_end.listen(server_tls)
    error = await refused(side.build(port=port, tls=True), message)
    assert (error.kind, error.code) == (Kind.TEMPORARY, "tls_not_trusted")
    assert side.handed_over == 0


async def test_a_certificate_for_another_name_stops_the_message(
    side: Side, authority: trustme.CA, ca: bytes, message: Message
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("other.example.com").configure_cert(context)
    port = await side.far_end.listen(context)
    error = await refused(side.build(port=port, tls=True, ca=ca), message)
    assert (error.kind, error.code) == (Kind.TEMPORARY, "tls_not_trusted")
    assert side.handed_over == 0


async def test_a_far_end_without_tls_gets_no_message_over_tls(side: Side, message: Message) -> None:
    error = await refused(side.build(tls=True, timeout=0.3), message)
    assert error.kind is Kind.TEMPORARY
    assert side.handed_over == 0


async def test_a_trusted_certificate_carries_messages(
    side: Side, server_tls: ssl.SSLContext, ca: bytes, message: Message
) -> None:
    port = await side.far_end.listen(server_tls)
    provider = side.build(port=port, tls=True, ca=ca)
    await provider.send(message, clear)
    await provider.send(replace(message, key="another"), clear)
    await provider.aclose()
    assert side.handed_over == 2


async def test_a_clearance_that_refuses_leaves_nothing_on_the_wire(
    side: Side, provider: Provider, message: Message
) -> None:
    def refuse() -> None:
        raise HandOffRefusedError("the lease is short")

    with pytest.raises(HandOffRefusedError, match="the lease is short"):
        await provider.send(message, refuse)
    assert side.handed_over == 0
    await provider.send(message, clear)
    assert side.handed_over == 1
    assert side.far_end.connections == 1, "the refused connection was good"


async def test_the_clearance_is_asked_after_the_connection_is_up(
    side: Side, provider: Provider, message: Message
) -> None:
    asked_at: list[int] = []
    await provider.send(message, lambda: asked_at.append(side.far_end.connections))
    assert asked_at
    assert set(asked_at) == {1}


async def test_a_cancelled_hand_off_drops_its_connection(side: Side, provider: Provider, message: Message) -> None:
    side.script("hangs after the message")
    task = asyncio.create_task(provider.send(message, clear))
    await side.far_end.until(lambda: side.handed_over == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    side.far_end.calm()
    await provider.send(replace(message, key="another"), clear)
    assert side.far_end.connections == 2


async def test_no_more_connections_than_max_in_flight(side: Side, provider: Provider, message: Message) -> None:
    await asyncio.gather(*(provider.send(replace(message, key=f"key-{number}"), clear) for number in range(40)))
    assert side.handed_over == 40
    assert side.far_end.connections <= 4


async def test_a_connection_that_the_far_end_closed_while_idle_is_not_used(
    side: Side, provider: Provider, message: Message
) -> None:
    await provider.send(message, clear)
    side.far_end.hang_up()
    await side.far_end.until(lambda: side.far_end.open_connections == 0)
    await provider.send(replace(message, key="another"), clear)
    assert side.far_end.connections == 2


async def test_closing_hangs_up_and_later_messages_are_no_acceptances(
    side: Side, provider: Provider, message: Message
) -> None:
    await provider.send(message, clear)
    await provider.aclose()
    await side.far_end.until(lambda: side.far_end.open_connections == 0)
    assert (await refused(provider, message)).kind is Kind.TEMPORARY


async def test_a_repeat_of_a_key_inside_its_window_is_accepted_once(
    http_far_end: HttpFarEnd, http_answer: Callable[..., bytes], do: Any, message: Message
) -> None:
    keyed = HttpSide(http_far_end, http_answer, do)
    provider = keyed.build()
    assert provider.key_window == WINDOW
    first = await provider.send(message, clear)
    http_far_end.now += WINDOW - 1
    assert await provider.send(message, clear) == first
    assert len(http_far_end.accepted) == 1
    http_far_end.now += 1
    assert await provider.send(message, clear) != first
    assert http_far_end.accepted == [message.key, message.key], "past the window the key is a new request"
    await provider.aclose()


async def test_only_a_provider_with_keys_says_so(side: Side, provider: Provider) -> None:
    assert provider.key_window == (WINDOW if side.keyed else None)
