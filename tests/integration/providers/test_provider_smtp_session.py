"""The SMTP dialogue itself: what is said, in which order, and how a session goes on after trouble."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import HandOffRefusedError, Kind, SendError
from sendonce_worker.providers.smtp.connection import MAX_MAILS
from sendonce_worker.providers.smtp.provider import SmtpProvider, SmtpSettings

if TYPE_CHECKING:
    from tests.integration.providers.conftest import SmtpFarEnd

ENVELOPE = ["MAIL", "RCPT", "DATA"]


def clear() -> None:
    """Let everything through."""


def build(far_end: SmtpFarEnd, **settings: Any) -> SmtpProvider:
    plain: dict[str, Any] = {"host": "127.0.0.1", "port": far_end.port, "tls": "None", "timeout": 5.0, "patience": 5.0}
    return SmtpProvider(SmtpSettings(**(plain | settings)), {})


@pytest.fixture
async def provider(smtp_far_end: SmtpFarEnd) -> AsyncIterator[SmtpProvider]:
    built = build(smtp_far_end)
    yield built
    await built.aclose()


async def refused(provider: SmtpProvider, message: Message) -> SendError:
    with pytest.raises(SendError) as caught:
        await provider.send(message, clear)
    return caught.value


def verbs(far_end: SmtpFarEnd) -> list[str]:
    return [command[:4].strip() for command in far_end.commands]


async def test_the_envelope_has_size_and_addresses_and_the_mail_arrives_whole(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, build_message: Callable[..., Message]
) -> None:
    accepted = await provider.send(build_message(text="one\n.two\n..three\n"), clear)
    assert accepted.detail == "250 2.0.0 Ok: queued as 4F2"
    mail = smtp_far_end.mails[0]
    assert accepted.message_id == "<6f1c0f8e-5a5e-4c1b-9a3e-0123456789ab@example.com>"
    assert f"\r\nMessage-ID: {accepted.message_id}\r\n".encode() in mail, "by which people find it"
    assert smtp_far_end.commands[1] == f"MAIL FROM:<news@example.com> SIZE={len(mail)}"
    assert smtp_far_end.commands[2] == "RCPT TO:<ann@example.org>"
    assert mail.endswith(b"\r\n\r\none\r\n..two\r\n...three\r\n"), "leading dots are doubled on the wire"


async def test_without_a_helo_name_we_name_ourselves_by_our_address(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    await provider.send(message, clear)
    assert smtp_far_end.commands[0] == "EHLO [127.0.0.1]"


async def test_a_server_without_ehlo_is_greeted_by_helo(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    smtp_far_end.will("EHLO", b"502 5.5.1 what\r\n")
    await provider.send(message, clear)
    assert verbs(smtp_far_end) == ["EHLO", "HELO", *ENVELOPE]
    assert smtp_far_end.commands[2] == "MAIL FROM:<news@example.com>"


async def test_without_pipelining_a_command_waits_for_the_reply_to_the_one_before(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    smtp_far_end.extensions = ()
    smtp_far_end.will("RCPT", b"550 5.1.1 no such user\r\n")
    assert (await refused(provider, message)).code == "5.1.1"
    assert verbs(smtp_far_end) == ["EHLO", "MAIL", "RCPT", "RSET"]


async def test_data_accepted_although_rcpt_was_refused_ends_with_a_lone_dot(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    smtp_far_end.will("RCPT", b"550 5.1.1 no such user\r\n")
    assert (await refused(provider, message)).kind is Kind.PERMANENT
    smtp_far_end.calm()
    await provider.send(message, clear)
    assert verbs(smtp_far_end) == ["EHLO", *ENVELOPE, "RSET", *ENVELOPE]
    assert len(smtp_far_end.mails) == 1, "the refused recipient's message never left"


async def test_a_server_that_accepts_the_empty_message_loses_its_session(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    smtp_far_end.will("RCPT", b"550 5.1.1 no such user\r\n")
    smtp_far_end.will("DOT", b"250 2.0.0 fine\r\n")
    assert (await refused(provider, message)).kind is Kind.PERMANENT
    smtp_far_end.calm()
    await provider.send(message, clear)
    assert smtp_far_end.connections == 2


async def test_data_refused_together_with_rcpt_is_answered_by_rset(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    smtp_far_end.will("RCPT", b"550 5.1.1 no such user\r\n")
    smtp_far_end.will("DATA", b"503 5.5.1 no recipients\r\n")
    error = await refused(provider, message)
    assert (error.kind, error.code, error.message) == (Kind.PERMANENT, "5.1.1", "550 5.1.1 no such user")
    assert verbs(smtp_far_end)[-1] == "RSET"


@pytest.mark.parametrize("verb", ["GREETING", "EHLO", "MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize("trouble", ["HANG", "CLOSE", "RESET", "garbage"])
async def test_trouble_before_the_final_dot_is_no_acceptance(
    smtp_far_end: SmtpFarEnd, do: Any, message: Message, verb: str, trouble: str
) -> None:
    provider = build(smtp_far_end, timeout=1.0 if trouble == "HANG" else 5.0)
    smtp_far_end.will(verb, b"hello there\r\n" if trouble == "garbage" else do[trouble])
    assert (await refused(provider, message)).kind is Kind.TEMPORARY
    assert not smtp_far_end.mails
    smtp_far_end.calm()
    await provider.send(message, clear)
    assert smtp_far_end.connections == 2


async def test_a_connection_that_breaks_inside_a_large_message_is_no_acceptance(
    smtp_far_end: SmtpFarEnd, do: Any, provider: SmtpProvider, build_message: Callable[..., Message]
) -> None:
    smtp_far_end.extensions = ("PIPELINING",)
    smtp_far_end.will("LINE", do.RESET)
    error = await refused(provider, build_message(text="a line of text\n" * 1_000_000))
    assert error.kind is Kind.TEMPORARY
    assert not smtp_far_end.mails


async def test_a_large_message_that_is_not_read_runs_into_the_time_out_before_its_dot(
    smtp_far_end: SmtpFarEnd, do: Any, build_message: Callable[..., Message]
) -> None:
    smtp_far_end.extensions = ("PIPELINING",)
    never = asyncio.Event()

    async def stall(*_: object) -> bool:
        await never.wait()
        return False

    smtp_far_end.will("DATA", b"354 go ahead\r\n")
    smtp_far_end._data = stall  # type: ignore[assignment,method-assign]  # noqa: SLF001 - the fake, not ours
    provider = build(smtp_far_end, timeout=0.5, patience=60)
    error = await refused(provider, build_message(text="a line of text\n" * 2_000_000))
    assert (error.kind, error.code) == (Kind.TEMPORARY, "timeout")


async def test_the_answer_to_the_dot_is_waited_for_longer_than_the_time_out(
    smtp_far_end: SmtpFarEnd, message: Message
) -> None:
    provider = build(smtp_far_end, timeout=1.0, patience=10)
    slow = asyncio.Event()
    asyncio.get_running_loop().call_later(1.5, slow.set)
    usual = smtp_far_end.do

    async def do_slowly(step: Any, *streams: Any) -> bool:
        if smtp_far_end.mails:
            await slow.wait()
        return await usual(step, *streams)

    smtp_far_end.do = do_slowly  # type: ignore[assignment,method-assign]
    assert (await provider.send(message, clear)).detail.startswith("250")


async def test_a_clearance_withdrawn_before_the_message_hangs_up_without_a_mail(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    answers = iter([True, False])

    def clearance() -> None:
        if not next(answers):
            raise HandOffRefusedError

    with pytest.raises(HandOffRefusedError):
        await provider.send(message, clearance)
    await smtp_far_end.until(lambda: smtp_far_end.open_connections == 0)
    assert verbs(smtp_far_end) == ["EHLO", *ENVELOPE]
    assert not smtp_far_end.mails


async def test_a_kept_session_that_the_server_ends_by_421_is_replaced(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    await provider.send(message, clear)
    answers = iter([b"421 4.4.2 idle for too long\r\n", b"250 2.1.0 Ok\r\n"])
    usual = smtp_far_end._usual  # noqa: SLF001 - the fake, not ours
    smtp_far_end._usual = lambda verb: next(answers) if verb == "MAIL" else usual(verb)  # type: ignore[method-assign]  # noqa: SLF001
    await provider.send(message, clear)
    assert smtp_far_end.connections == 2
    assert len(smtp_far_end.mails) == 2


async def test_421_to_the_message_itself_is_its_answer_also_on_a_kept_session(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    await provider.send(message, clear)
    smtp_far_end.will("DOT", b"421 4.3.2 shutting down\r\n")
    error = await refused(provider, message)
    assert (error.kind, error.code) == (Kind.TEMPORARY, "4.3.2")
    assert smtp_far_end.connections == 1  # it was not handed over a second time


async def test_421_to_the_first_mail_of_a_session_is_reported(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    smtp_far_end.will("MAIL", b"421 4.3.2 shutting down\r\n")
    error = await refused(provider, message)
    assert (error.kind, error.code) == (Kind.TEMPORARY, "4.3.2")
    await smtp_far_end.until(lambda: smtp_far_end.open_connections == 0)


async def test_421_is_taken_at_its_word_also_if_the_server_does_not_hang_up(
    smtp_far_end: SmtpFarEnd, do: Any, provider: SmtpProvider, message: Message
) -> None:
    smtp_far_end.will("MAIL", b"421 4.3.2 shutting down\r\n", do.HANG)
    error = await refused(provider, message)
    assert (error.kind, error.code) == (Kind.TEMPORARY, "4.3.2")


async def test_an_unexpected_reply_while_idle_ends_the_session(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    smtp_far_end.will("DOT", b"250 2.0.0 Ok\r\n250 2.0.0 and again\r\n")
    await provider.send(message, clear)
    smtp_far_end.calm()
    await provider.send(message, clear)
    assert smtp_far_end.connections == 2


async def test_a_session_ends_with_quit_after_its_share_of_mails(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    for _ in range(MAX_MAILS + 1):
        await provider.send(message, clear)
    assert smtp_far_end.connections == 2
    assert verbs(smtp_far_end).count("QUIT") == 1


async def test_closing_says_quit(smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message) -> None:
    await provider.send(message, clear)
    await provider.aclose()
    await smtp_far_end.until(lambda: verbs(smtp_far_end)[-1] == "QUIT")


async def test_a_mail_above_the_servers_size_is_permanent_and_not_begun(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, build_message: Callable[..., Message]
) -> None:
    smtp_far_end.extensions = ("PIPELINING", "SIZE 2000")
    error = await refused(provider, build_message(text="x\n" * 2000))
    assert (error.kind, error.code) == (Kind.PERMANENT, "5.3.4")
    assert verbs(smtp_far_end) == ["EHLO"]


async def test_an_address_beyond_ascii_needs_smtputf8(
    smtp_far_end: SmtpFarEnd, provider: SmtpProvider, message: Message
) -> None:
    wanted = replace(message, to="jürgen@bücher.example")
    await provider.send(wanted, clear)
    assert smtp_far_end.commands[1].endswith(" BODY=8BITMIME SMTPUTF8")
    assert smtp_far_end.commands[2] == "RCPT TO:<jürgen@xn--bcher-kva.example>"
    await provider.aclose()
    smtp_far_end.extensions = ("PIPELINING",)
    error = await refused(build(smtp_far_end), wanted)
    assert (error.kind, error.code) == (Kind.PERMANENT, "smtputf8_missing")
