"""Mails that share a connection: the next envelope leaves with the message before it, and trouble stays with one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest

from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import HandOffRefusedError, Kind, SendError
from sendonce_worker.providers.smtp.provider import SmtpProvider, SmtpSettings

if TYPE_CHECKING:
    from tests.integration.providers.conftest import Puppet

ALL_GOOD = b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n354 go ahead\r\n"
QUEUED = b"250 2.0.0 queued\r\n"


def clear() -> None:
    """Let everything through."""


@pytest.fixture
async def provider(puppet: Puppet) -> AsyncIterator[SmtpProvider]:
    built = build(puppet)
    yield built
    puppet.hang_up()
    await built.aclose()


def build(puppet: Puppet, **settings: Any) -> SmtpProvider:
    plain: dict[str, Any] = {"timeout": 60.0, "patience": 60.0, "quick": 5.0, "line_patience": 60.0}
    return SmtpProvider(SmtpSettings("127.0.0.1", puppet.port, "None", **(plain | settings)), {})


class Sending:
    """Starts hand-offs to a, b, c, … in this order."""

    def __init__(self, provider: SmtpProvider, build_message: Callable[..., Message]) -> None:
        self._provider = provider
        self._build = build_message
        self.tasks: dict[str, asyncio.Task[Accepted]] = {}

    async def start(self, *names: str, clearance: Callable[[], None] = clear) -> None:
        for name in names:
            message = self._build(to=f"{name}@example.org", text=f"for {name}")
            self.tasks[name] = asyncio.create_task(self._provider.send(message, clearance))
            await asyncio.sleep(0)

    async def accepted(self, name: str) -> None:
        assert (await asyncio.wait_for(self.tasks[name], 5)).detail == "250 2.0.0 queued"

    async def refused(self, name: str) -> tuple[Kind, str]:
        with pytest.raises(SendError) as caught:
            await asyncio.wait_for(self.tasks[name], 5)
        return caught.value.kind, caught.value.code


async def envelope_out(puppet: Puppet, number: int, name: str) -> None:
    assert f"RCPT TO:<{name}@example.org>".encode() in await puppet.heard(number, b"DATA\r\n")


async def one_sent(puppet: Puppet, sending: Sending, seconds: float = 0.0) -> None:
    """Send a first mail on a connection: nobody stands in line where it is not known how long that takes."""
    await sending.start("first")
    await puppet.heard(0, b"DATA\r\n")
    puppet.say(0, ALL_GOOD)
    await puppet.heard(0, b"\r\n.\r\n")
    await asyncio.sleep(seconds)
    puppet.say(0, QUEUED)
    await sending.accepted("first")


@pytest.fixture
async def sending(puppet: Puppet, provider: SmtpProvider, build_message: Callable[..., Message]) -> Sending:
    made = Sending(provider, build_message)
    await one_sent(puppet, made)
    return made


async def a_out_b_in_line(puppet: Puppet, sending: Sending, *more: str) -> None:
    """The message of a has left, and with it the envelope of b."""
    await sending.start("a", "b", *more)
    await envelope_out(puppet, 0, "a")
    puppet.say(0, ALL_GOOD)
    await envelope_out(puppet, 0, "b")


async def test_the_next_envelope_leaves_with_the_message_before_it(puppet: Puppet, sending: Sending) -> None:
    await sending.start("a", "b", "c")
    assert (await puppet.heard(0, b"DATA\r\n")).count(b"DATA") == 1
    for name, following in (("a", "b"), ("b", "c")):
        puppet.say(0, ALL_GOOD if name == "a" else QUEUED + ALL_GOOD)
        await envelope_out(puppet, 0, following)
        assert f"for {name}\r\n.\r\nMAIL FROM:".encode() in puppet.said[0]
        assert f"for {following}".encode() not in puppet.said[0]
    puppet.say(0, QUEUED + ALL_GOOD)
    await puppet.heard(0, b"for c\r\n.\r\n")
    puppet.say(0, QUEUED)
    for name in "abc":
        await sending.accepted(name)
    assert puppet.connections == 1


@pytest.mark.parametrize("size", [1, 7, 33, 500])
async def test_answers_may_be_cut_anywhere(puppet: Puppet, sending: Sending, size: int) -> None:
    await a_out_b_in_line(puppet, sending)
    words = b"250-2.0.0 a first line\r\n" + QUEUED + ALL_GOOD
    for at in range(0, len(words), size):
        puppet.say(0, words[at : at + size])
        await asyncio.sleep(0.001)  # so that each piece is read on its own
    await puppet.heard(0, b"for b\r\n.\r\n")
    puppet.say(0, QUEUED)
    await sending.accepted("b")
    assert (await sending.tasks["a"]).detail == "250 2.0.0 a first line 2.0.0 queued"


async def test_a_refused_envelope_in_line_concerns_that_mail_alone(puppet: Puppet, sending: Sending) -> None:
    await a_out_b_in_line(puppet, sending, "c")
    puppet.say(0, QUEUED + b"250 2.1.0 Ok\r\n550 5.1.1 no such user\r\n354 go ahead\r\n")
    await puppet.heard(0, b".\r\n")
    puppet.say(0, b"554 5.5.1 no valid recipients\r\n")
    await puppet.heard(0, b"RSET\r\n")
    puppet.say(0, b"250 2.0.0 Ok\r\n")
    await sending.accepted("a")
    assert await sending.refused("b") == (Kind.PERMANENT, "5.1.1")
    await envelope_out(puppet, 0, "c")
    puppet.say(0, ALL_GOOD)
    await puppet.heard(0, b"for c\r\n.\r\n")
    puppet.say(0, QUEUED)
    await sending.accepted("c")
    assert b"for b" not in puppet.received


async def test_a_refused_message_does_not_touch_the_envelope_behind_it(puppet: Puppet, sending: Sending) -> None:
    await a_out_b_in_line(puppet, sending)
    puppet.say(0, b"554 5.7.1 spam\r\n" + ALL_GOOD)
    await puppet.heard(0, b"for b\r\n.\r\n")
    puppet.say(0, QUEUED)
    await sending.accepted("b")
    assert (await sending.refused("a"))[1] == "5.7.1"


@pytest.mark.parametrize("answers", [b"", b"250 2.1.0 Ok\r\n"])
async def test_a_lost_connection_is_unknown_for_the_message_and_a_new_try_for_the_line(
    puppet: Puppet, sending: Sending, answers: bytes
) -> None:
    await a_out_b_in_line(puppet, sending, "c")
    if answers:
        puppet.say(0, QUEUED + answers)
        await sending.accepted("a")
    puppet.cut(0)
    if not answers:
        assert await sending.refused("a") == (Kind.UNKNOWN, "connection_lost")
    await puppet.heard(1, b"DATA\r\n")
    await puppet.heard(2, b"DATA\r\n")
    for number in (1, 2):
        puppet.say(number, ALL_GOOD)
        await puppet.heard(number, b"\r\n.\r\n")
        puppet.say(number, QUEUED)
    await sending.accepted("b")
    await sending.accepted("c")
    assert puppet.received.count(b"for b") == puppet.received.count(b"for c") == 1


async def test_an_answer_before_garbage_counts(puppet: Puppet, sending: Sending) -> None:
    await a_out_b_in_line(puppet, sending)
    puppet.say(0, QUEUED + b"hello there\r\n")
    await sending.accepted("a")
    await envelope_out(puppet, 1, "b")


async def test_a_clearance_lost_in_line_stops_the_message(puppet: Puppet, sending: Sending) -> None:
    lost = False

    def clearance() -> None:
        if lost:
            raise HandOffRefusedError

    await sending.start("a")
    await sending.start("b", clearance=clearance)
    await envelope_out(puppet, 0, "a")
    puppet.say(0, ALL_GOOD)
    await envelope_out(puppet, 0, "b")
    lost = True
    puppet.say(0, QUEUED + ALL_GOOD)
    await sending.accepted("a")
    with pytest.raises(HandOffRefusedError):
        await sending.tasks["b"]
    await puppet.until(lambda: puppet.open_connections == 0)
    assert b"for b" not in puppet.received


async def test_a_reply_too_many_after_the_envelope_is_no_answer_to_the_message(
    puppet: Puppet, sending: Sending
) -> None:
    await a_out_b_in_line(puppet, sending)
    puppet.say(0, QUEUED + ALL_GOOD + QUEUED)
    await sending.accepted("a")
    await envelope_out(puppet, 1, "b")
    assert b"for b" not in puppet.received


async def test_a_server_that_grows_slow_is_left_by_those_in_line_and_its_answer_still_counts(
    puppet: Puppet, build_message: Callable[..., Message]
) -> None:
    sending = Sending(build(puppet, line_patience=0.2), build_message)
    await one_sent(puppet, sending)
    await a_out_b_in_line(puppet, sending, "c")
    await puppet.heard(1, b"DATA\r\n")
    await puppet.heard(2, b"DATA\r\n")
    puppet.say(0, QUEUED + ALL_GOOD)
    await sending.accepted("a")
    await puppet.until(lambda: puppet.open_connections == 2)
    for number in (1, 2):
        puppet.say(number, ALL_GOOD)
        await puppet.heard(number, b"\r\n.\r\n")
        puppet.say(number, QUEUED)
    await sending.accepted("b")
    await sending.accepted("c")
    assert puppet.received.count(b"for b") == 1


async def test_the_time_out_of_a_message_is_no_trouble_for_the_line(
    puppet: Puppet, build_message: Callable[..., Message]
) -> None:
    sending = Sending(build(puppet, patience=0.3), build_message)
    await one_sent(puppet, sending)
    await a_out_b_in_line(puppet, sending)
    assert await sending.refused("a") == (Kind.UNKNOWN, "timeout")
    await envelope_out(puppet, 1, "b")
    puppet.say(1, ALL_GOOD)
    await puppet.heard(1, b"for b\r\n.\r\n")
    puppet.say(1, QUEUED)
    await sending.accepted("b")


async def test_a_cancelled_envelope_leaves_the_message_before_it_its_answer(puppet: Puppet, sending: Sending) -> None:
    await a_out_b_in_line(puppet, sending)
    sending.tasks["b"].cancel()
    await asyncio.sleep(0)
    puppet.say(0, QUEUED)
    await sending.accepted("a")
    await puppet.until(lambda: puppet.open_connections == 0)
    assert b"for b" not in puppet.received


async def test_a_server_that_takes_a_queued_envelope_for_an_error_gets_it_on_a_connection_of_its_own(
    puppet: Puppet, sending: Sending
) -> None:
    await a_out_b_in_line(puppet, sending)
    puppet.say(0, QUEUED + b"554 5.5.0 protocol synchronization\r\n" * 3)
    await puppet.heard(0, b"RSET\r\n")
    puppet.say(0, b"250 2.0.0 Ok\r\n")
    await sending.accepted("a")
    await puppet.until(lambda: puppet.received.count(b"RCPT TO:<b@") == 2)
    number = len(puppet.said) - 1
    await sending.start("c", "d")
    await puppet.heard(number, b"DATA\r\n")
    puppet.say(number, ALL_GOOD)
    await puppet.heard(number, b"for b\r\n.\r\n")
    puppet.say(number, QUEUED)
    await sending.accepted("b")
    await puppet.until(lambda: puppet.connections == number + 3)  # c and d do not stand in line


@pytest.mark.parametrize(("took", "takes"), [(0.2, 0.0), (0.0, 0.2)], ids=["slow", "grown slow"])
async def test_nobody_stands_in_line_for_a_slow_server(
    puppet: Puppet, build_message: Callable[..., Message], took: float, takes: float
) -> None:
    sending = Sending(build(puppet, quick=0.1), build_message)
    await one_sent(puppet, sending, took)
    await sending.start("a")
    await envelope_out(puppet, 0, "a")
    await asyncio.sleep(takes)
    await sending.start("b")
    await envelope_out(puppet, 1, "b")


async def test_nobody_stands_in_line_without_pipelining(puppet: Puppet, sending: Sending) -> None:
    await sending.start("a")  # on the connection that is there
    puppet.extensions = b"250 far.example.com\r\n"
    puppet.cut(0)
    await puppet.heard(1, b"example.com>\r\n")
    puppet.say(1, QUEUED)
    for end, reply in ((b"example.org>\r\n", QUEUED), (b"DATA\r\n", b"354 go\r\n"), (b"\r\n.\r\n", QUEUED)):
        await puppet.heard(1, end)
        puppet.say(1, reply)
    await sending.accepted("a")
    await sending.start("b", "c")
    await puppet.heard(2, b"MAIL FROM:<news@example.com>\r\n")
    await puppet.heard(1, b"MAIL FROM:<news@example.com>\r\n")
