"""What every named far end must do: one suite, run against all of them, each behind a socket with its own manners."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.far_ends.all import FACES
from tests.far_ends.email import MailFace, sendgrid_reset
from tests.far_ends.face import Face, Reply

from sendonce_worker.providers.api.base import Credentials
from sendonce_worker.providers.api.lines import Wire
from sendonce_worker.providers.api.provider import ApiProvider
from sendonce_worker.providers.base import Accepted, Message, Provider
from sendonce_worker.providers.errors import HandOffRefusedError, Kind, ProviderConfigError, SendError
from sendonce_worker.providers.registry import api_of, build_provider
from sendonce_worker.providers.secrets_text import as_text

if TYPE_CHECKING:
    from tests.integration.providers.conftest import HttpFarEnd

# what is of one far end does not depend on the loop, and what does is shown by the HTTP provider's tests
pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])
KEYED = {"Resend": 82_800.0, "Line": 82_800.0, "StandardWebhooks": 86_400.0}


def clear() -> None:
    """Let everything through."""


@dataclass
class Stage:
    """A far end with its face, and what talks to it."""

    face: Face
    far_end: HttpFarEnd
    make: Callable[..., Message]
    providers: list[Provider] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 10_000)))

    def provider(self, secrets: dict[str, bytes] | None = None, **spec: Any) -> Provider:
        built = build_provider(self.face.spec(**spec), self.face.secret() if secrets is None else secrets)
        self.providers.append(built)
        return built

    def message(self, **changes: Any) -> Message:
        """A message with a key and a delivery id of its own."""
        number = next(self._numbers)
        own = {"key": str(uuid.UUID(int=number)), "delivery_id": f"7-{number}", "channel": self.face.channel}
        return self.make(**({"to": self.face.to()} | self.face.content | own | changes))

    @property
    def handed_over(self) -> int:
        """Requests that carry a message, which those for access tokens do not."""
        return len([request for request in self.far_end.requests if not request.line.startswith("POST /token")])


def stage_of(kind: type[Face], far_end: HttpFarEnd, make: Callable[..., Message]) -> Stage:
    face = kind(far_end.port)

    def respond(request: Any) -> bytes:
        try:
            return face.respond(request).encoded()
        except Exception as error:  # noqa: BLE001 - the test sees it in the words of the answer
            return Reply(599, f"the far end did not expect this: {error!r}".encode()).encoded()

    far_end.respond = respond
    return Stage(face, far_end, make)


@pytest.fixture(params=FACES, ids=[kind.type for kind in FACES])
async def stage(
    request: pytest.FixtureRequest, http_far_end: HttpFarEnd, build_message: Callable[..., Message]
) -> AsyncIterator[Stage]:
    made = stage_of(request.param, http_far_end, build_message)
    yield made
    for provider in made.providers:
        await provider.aclose()


def faces(those: Callable[[type[Face]], bool]) -> pytest.MarkDecorator:
    """Run a test against some of the far ends."""
    chosen = [kind for kind in FACES if those(kind)]
    return pytest.mark.parametrize("stage", chosen, ids=[kind.type for kind in chosen], indirect=True)


async def refused(provider: Provider, message: Message) -> SendError:
    with pytest.raises(SendError) as caught:
        await provider.send(message, clear)
    assert len(caught.value.message) <= 500
    assert len(caught.value.code) <= 64
    return caught.value


async def test_an_acceptance_brings_an_id_and_took_our_delivery_id_along(stage: Stage) -> None:
    provider = stage.provider()
    messages = [stage.message() for _ in range(3)]
    answers = [await provider.send(message, clear) for message in messages]
    assert all(isinstance(answer, Accepted) for answer in answers)
    assert stage.face.type == "StandardWebhooks" or len({answer.message_id for answer in answers} - {None}) == 3
    marks = {"Line": [m.key for m in messages], "Telegram": [m.content.text for m in messages]}
    assert stage.face.taken == marks.get(stage.face.type, [message.delivery_id for message in messages])
    assert stage.far_end.connections == (2 if stage.face.type == "FCM" else 1), "connections are kept"


async def test_each_answer_is_taken_for_what_it_is(stage: Stage) -> None:
    provider = stage.provider()
    await provider.send(stage.message(), clear)
    before = stage.far_end.connections
    wrong: list[str] = []
    for case in stage.face.cases:
        stage.far_end.will(case.reply.encoded())
        error = await refused(provider, stage.message())
        if (error.kind, error.code, error.retry_after) != (case.kind, case.code, case.wait):
            wrong.append(f"{case.name}: {error.kind} {error.code} {error.retry_after} {error.message}")
    assert not wrong
    assert len(stage.face.taken) == 1, "none of them was an acceptance"
    await provider.send(stage.message(), clear)
    assert stage.far_end.connections == before, "an answer that was understood leaves its connection good"


async def test_a_recipient_that_it_must_refuse_is_permanent_and_alone(stage: Stage) -> None:
    provider = stage.provider()
    error = await refused(provider, stage.message(to=stage.face.refused_to()))
    assert error.kind is Kind.PERMANENT, error
    assert not error.is_outage
    await provider.send(stage.message(), clear)


async def test_a_secret_without_a_key_is_named_before_anything_is_sent(stage: Stage) -> None:
    needed = [name for name in stage.face.secrets if name not in stage.face.optional]
    for name in needed:
        for secrets in ({}, {"other": b"x"}, stage.face.secret() | {name: b"  "}):
            with pytest.raises(ProviderConfigError, match=name) as caught:
                stage.provider(secrets)
            assert caught.value.field == "credentialsSecretRef"
    assert stage.far_end.connections == 0


async def test_a_secrets_value_with_a_line_break_is_found_before_anything_is_sent(stage: Stage) -> None:
    for name, value in stage.face.secret().items():
        if name in {"serviceAccount", "vapidPrivateKey"}:
            continue
        with pytest.raises(ProviderConfigError, match="ends with a line break") as caught:
            stage.provider(stage.face.secret() | {name: value + b"\n"})
        assert value.decode() not in str(caught.value)


def bad_secret(face: Face, changes: dict[str, str]) -> dict[str, bytes]:
    if face.type == "FCM":
        return {"serviceAccount": face.account(**changes)}  # type: ignore[attr-defined]
    if face.type == "WebPush":
        return {"vapidPrivateKey": b"A" * 42 + b"E"}
    return face.secret() | {name: value.encode() for name, value in changes.items()}


async def test_bad_credentials_stop_the_campaign_and_stay_secret(stage: Stage) -> None:
    for how, changes in stage.face.bad_secrets.items():
        error = await refused(stage.provider(bad_secret(stage.face, changes)), stage.message())
        assert error.kind is Kind.ACCOUNT, (how, error)
        assert error.message
        assert not [value for value in changes.values() if len(value) > 12 and value in error.message]
    assert not stage.face.taken


async def test_a_lost_or_broken_answer_is_unknown(stage: Stage, do: Any) -> None:
    provider = stage.provider()
    await provider.send(stage.message(), clear)
    troubles: list[tuple[Any, ...]] = [
        (do.CLOSE,),
        (do.RESET,),
        (b"HTTP/1.1 200 OK\r\nContent-Le", do.RESET),
        (b"\x00\xffwhat is this\r\n\r\n",),
        (Reply(200, b"x" * 2_000_000).encoded(),),
    ]
    for steps in troubles:
        before = stage.handed_over
        stage.far_end.will(*steps)
        error = await refused(provider, stage.message())
        assert error.kind is Kind.UNKNOWN, (steps[0][:20] if isinstance(steps[0], bytes) else steps, error)
        assert stage.handed_over == before + 1, "a provider tries once"
        await provider.send(stage.message(), clear)


@faces(lambda kind: not kind.per_recipient)
async def test_a_success_in_another_form_is_unknown(stage: Stage) -> None:
    provider = stage.provider()
    await provider.send(stage.message(), clear)
    for body in (
        b"<html>Welcome to the hotel</html>",
        b"[]",
        b"null",
        b'{"ok": "yes"}',
        b'{"messages": 3}',
        b"[" * 90_000,
    ):
        stage.far_end.will(Reply(200, body).encoded())
        error = await refused(provider, stage.message())
        assert error.kind is Kind.UNKNOWN, (body[:30], error)


async def test_a_message_above_the_bounds_is_refused_and_not_handed_over(stage: Stage) -> None:
    assert stage.face.too_long is not None
    error = await refused(stage.provider(), stage.message(**stage.face.too_long))
    assert (error.kind, error.code) == (Kind.PERMANENT, "message_too_large")
    assert "takes at most" in error.message
    assert stage.handed_over == 0


async def test_half_a_character_is_refused_and_not_handed_over(stage: Stage) -> None:
    error = await refused(stage.provider(), stage.message(text="half \ud83d"))
    assert (error.kind, error.code) == (Kind.PERMANENT, "not_encodable")
    assert stage.handed_over == 0


@faces(lambda kind: kind.needs_sender)
async def test_without_a_sender_nobody_is_burnt(stage: Stage) -> None:
    error = await refused(stage.provider(), stage.message(sender=None))
    assert (error.kind, error.code) == (Kind.ACCOUNT, "no_sender")
    assert "template.from" in error.message
    assert stage.handed_over == 0


async def test_a_line_break_that_a_variable_brings_stays_inside_its_value(stage: Stage) -> None:
    """The rendering refuses line breaks in headers; whatever gets through must not become another header here."""
    provider = stage.provider()
    if isinstance(stage.face, MailFace):
        hostile = stage.message(subject="a\r\nBcc: eve@example.com\r\n\r\nx")
    else:
        hostile = stage.message(text="a\r\nX-Evil: 1\r\n\r\nPOST / HTTP/1.1")
    with suppress(SendError):
        await provider.send(hostile, clear)
    assert stage.handed_over == 1
    head = [name.lower() for request in stage.far_end.requests for name in request.headers]
    assert not {"bcc", "x-evil"} & set(head)


async def test_a_clearance_that_refuses_leaves_nothing_on_the_wire(stage: Stage) -> None:
    provider = stage.provider()

    def refuse() -> None:
        raise HandOffRefusedError("the lease is short")

    with pytest.raises(HandOffRefusedError, match="the lease is short"):
        await provider.send(stage.message(), refuse)
    assert stage.handed_over == 0
    assert not stage.face.taken
    asked_at: list[int] = []
    await provider.send(stage.message(), lambda: asked_at.append(stage.far_end.connections))
    assert asked_at
    assert asked_at[0] > 0, "asked after the connection is up"


async def test_a_far_end_that_is_away_took_nothing(stage: Stage, unused_port: int) -> None:
    stage.face.port = unused_port
    provider = stage.provider()
    code = "endpoint_connect_failed" if stage.face.per_recipient else "connect_failed"
    for _ in range(6):
        error = await refused(provider, stage.message())
        assert (error.kind, error.code) == (Kind.TEMPORARY, code), "a failed connection frees its slot"
        assert error.is_outage is not stage.face.per_recipient, "one recipient's host is no outage of the provider"


async def test_time_outs_after_the_first_byte_are_unknown(
    http_far_ends: Callable[[], Awaitable[HttpFarEnd]], build_message: Callable[..., Message], do: Any
) -> None:
    async def one(kind: type[Face]) -> SendError:
        stage = stage_of(kind, await http_far_ends(), build_message)
        if kind.type == "FCM":
            stage.far_end.will(Reply(200, {"access_token": "t", "expires_in": 3599}).encoded())
        stage.far_end.will(do.HANG)
        api, words = api_of(stage.face.spec().type), as_text(stage.face.secret())
        provider = ApiProvider(api(stage.face.spec(), Credentials(words, api.facts)), words, Wire(timeout=0.7))
        error = await refused(provider, stage.message())
        await provider.aclose()
        return error

    errors = await asyncio.gather(*map(one, FACES))
    assert {(error.kind, error.code) for error in errors} == {(Kind.UNKNOWN, "timeout")}


async def test_only_a_far_end_with_keys_says_so(stage: Stage) -> None:
    assert stage.provider().key_window == KEYED.get(stage.face.type)


@faces(lambda kind: kind.type in KEYED)
async def test_a_repeat_of_a_key_inside_its_window_is_accepted_once(stage: Stage) -> None:
    provider = stage.provider()
    assert provider.key_window is not None
    message = stage.message()
    first = await provider.send(message, clear)
    stage.face.now += provider.key_window - 1
    again = await provider.send(message, clear)
    assert again.message_id == first.message_id
    assert len(stage.face.taken) == 1
    stage.face.now = 86_400.0
    await provider.send(message, clear)
    assert len(stage.face.taken) == 2, "past the window the key is a new request"


@faces(lambda kind: kind.type in KEYED)
async def test_a_repeat_sends_the_same_key_and_content(stage: Stage) -> None:
    provider, message = stage.provider(), stage.message()
    await provider.send(message, clear)
    await provider.send(replace(message, maybe_accepted=True), clear)
    first, second = stage.far_end.requests
    assert first.body == second.body
    assert message.key in first.headers.values()
    assert message.key in second.headers.values()


async def test_sendgrid_waits_until_the_moment_that_it_names(
    http_far_end: HttpFarEnd, build_message: Callable[..., Message]
) -> None:
    stage = stage_of(next(kind for kind in FACES if kind.type == "SendGrid"), http_far_end, build_message)
    http_far_end.will(sendgrid_reset(90).encoded())
    provider = stage.provider()
    error = await refused(provider, stage.message())
    await provider.aclose()
    assert error.retry_after is not None
    assert 30 < error.retry_after <= 90
