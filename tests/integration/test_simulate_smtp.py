"""The simulated far end over SMTP: what it answers, and what its ledger says of it."""

import asyncio
import contextlib
import gc
import hashlib
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import aiosmtplib
import pytest
import trustme

from sendonce_cli.simulate import (
    Behaviour,
    Cause,
    Chances,
    Ledger,
    Outcome,
    RefuseAt,
    Simulator,
    SimulatorSettings,
    SmtpTls,
    serve,
)

SENDER = "news@example.org"


@asynccontextmanager
async def running(tmp_path: Path, **settings: Any) -> AsyncIterator[Simulator]:
    async with serve(SimulatorSettings(ledger=tmp_path / "ledger.ndjson", **settings)) as far_end:
        yield far_end


@asynccontextmanager
async def connected(far_end: Simulator, **options: Any) -> AsyncIterator[aiosmtplib.SMTP]:
    defaults: dict[str, Any] = {"start_tls": False, "timeout": 10, "local_hostname": "client.example.com"}
    client = aiosmtplib.SMTP(hostname="127.0.0.1", port=far_end.smtp_port, **(defaults | options))
    await client.connect()
    try:
        yield client
    finally:
        client.close()


class Raw:
    """A connection on which a test writes its own bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, content: bytes) -> None:
        self.writer.write(content)
        await self.writer.drain()

    async def codes(self, count: int) -> list[int]:
        found: list[int] = []
        while len(found) < count:
            line = await asyncio.wait_for(self.reader.readuntil(b"\n"), 10)
            if line[3:4] == b" ":
                found.append(int(line[:3]))
        return found


@asynccontextmanager
async def raw(far_end: Simulator) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", far_end.smtp_port)
    connection = Raw(reader, writer)
    assert await connection.codes(1) == [220]
    try:
        yield connection
    finally:
        writer.close()


def message(to: str, key: str | None = "k1", text: str = "hello") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = SENDER, to, "News"
    if key is not None:
        mail["Message-ID"] = f"<{key}@sendonce.example.org>"
    mail.set_content(text)
    return mail


async def send(far_end: Simulator, to: str, key: str | None = "k1", text: str = "hello", **options: Any) -> str:
    """Send one message on its own connection; return the reply after the final dot."""
    async with connected(far_end, **options) as client:
        _, reply = await client.send_message(message(to, key, text))
        return reply


def outcomes(far_end: Simulator) -> list[Outcome]:
    return [row.outcome for row in far_end.ledger().rows]


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


def envelope(to: str = "mia@example.com") -> bytes:
    return b"MAIL FROM:<news@example.org>\r\nRCPT TO:<%s>\r\nDATA\r\n" % to.encode()


BRIEF = Behaviour(hang_seconds=0.2)


async def test_it_offers_the_extensions_that_senders_rely_on(tmp_path: Path) -> None:
    async with running(tmp_path, max_bytes=1000) as far_end, connected(far_end) as client:
        await client.ehlo()
        assert set(client.esmtp_extensions) >= {"pipelining", "size", "8bitmime", "smtputf8"}
        assert client.esmtp_extensions["size"] == "1000"
        assert not {"auth", "starttls"} & set(client.esmtp_extensions)


async def test_a_message_is_accepted_under_the_key_of_its_message_id(tmp_path: Path) -> None:
    async with running(tmp_path) as far_end:
        reply = await send(far_end, "mia@example.com")
        (row,) = far_end.ledger().rows
    assert reply == f"2.0.0 Ok: queued as {row.message_id}"
    assert (row.outcome, row.protocol, row.path, row.status) == (Outcome.ACCEPTED, "smtp", "", 250)
    assert (row.key, row.to, row.attempt) == ("k1", "mia@example.com", 1)
    sent = message("mia@example.com").as_bytes().replace(b"\n", b"\r\n")
    assert row.payload_sha256 == hashlib.sha256(sent).hexdigest()


async def test_many_messages_go_over_one_connection(tmp_path: Path) -> None:
    async with running(tmp_path) as far_end, connected(far_end) as client:
        for number in range(20):
            await client.send_message(message(f"u{number}@example.com", f"k{number}"))
        assert len(far_end.ledger().accepted()) == 20


async def test_without_a_key_window_each_message_is_accepted(tmp_path: Path) -> None:
    async with running(tmp_path) as far_end:
        for _ in range(2):
            await send(far_end, "mia@example.com")
        assert far_end.ledger().duplicates() == {("mia@example.com", "smtp", ""): 2}


async def test_with_a_key_window_a_repeat_gets_the_first_answer_and_another_payload_a_conflict(tmp_path: Path) -> None:
    async with running(tmp_path, behaviour=Behaviour(smtp_key_window=60)) as far_end:
        first = await send(far_end, "mia@example.com")
        assert await send(far_end, "mia@example.com") == first
        with pytest.raises(aiosmtplib.SMTPDataError, match=r"5\.6\.0"):
            await send(far_end, "mia@example.com", text="other")
        assert outcomes(far_end) == [Outcome.ACCEPTED, Outcome.REPEAT, Outcome.CONFLICT]


async def test_a_message_without_a_message_id_is_accepted_without_a_key(tmp_path: Path) -> None:
    async with running(tmp_path) as far_end, raw(far_end) as connection:
        await connection.say(b"EHLO x\r\n" + envelope())
        await connection.say(b"Subject: x\r\n\r\nMessage-ID: <body@example.org>\r\n.\r\n")
        assert await connection.codes(5) == [250, 250, 250, 354, 250]
        assert [row.key for row in far_end.ledger().rows] == [None]


@pytest.mark.parametrize(
    ("to", "code", "words", "outcome"),
    [
        ("permanent+mia@example.com", 550, "5.1.1", Outcome.REFUSED),
        ("transient+mia@example.com", 450, "4.2.0", Outcome.TRANSIENT),
        ("throttle+mia@example.com", 451, "4.7.1", Outcome.THROTTLED),
        ("account+mia@example.com", 530, "5.7.0", Outcome.ACCOUNT),
    ],
)
@pytest.mark.parametrize("refuse_at", RefuseAt)
async def test_a_refusal_comes_at_the_stage_that_is_set(
    tmp_path: Path, *, refuse_at: RefuseAt, to: str, code: int, words: str, outcome: Outcome
) -> None:
    async with running(tmp_path, refuse_at=refuse_at) as far_end, raw(far_end) as connection:
        await connection.say(b"EHLO x\r\n" + envelope(to))
        stages = await connection.codes(4)
        if refuse_at is RefuseAt.RCPT:
            assert stages[2:] == [code, 554]
        else:
            assert stages[2:] == [250, 354]
            await connection.say(b"Message-ID: <k1@x>\r\n\r\nhello\r\n.\r\n")
            assert (await connection.reader.readline()).startswith(f"{code} {words}".encode())
        (row,) = far_end.ledger().rows
    assert (row.outcome, row.status) == (outcome, code)
    assert (row.key, row.payload_sha256 is None) == ((None, True) if refuse_at is RefuseAt.RCPT else ("k1", False))


async def test_refused_at_rcpt_a_message_is_still_accepted_after_the_failures_it_names(tmp_path: Path) -> None:
    async with running(tmp_path, refuse_at=RefuseAt.RCPT) as far_end:
        for _ in range(2):
            with pytest.raises(aiosmtplib.SMTPRecipientsRefused):
                await send(far_end, "transient2+mia@example.com")
        await send(far_end, "transient2+mia@example.com")
        rows = far_end.ledger().rows
    assert [(row.outcome, row.key, row.attempt) for row in rows] == [
        (Outcome.TRANSIENT, None, 1),
        (Outcome.TRANSIENT, None, 2),
        (Outcome.ACCEPTED, "k1", 3),
    ]
    async with running(tmp_path, refuse_at=RefuseAt.RCPT, append=True) as far_end:
        await send(far_end, "transient2+mia@example.com")
        assert far_end.ledger().rows[-1].attempt == 4


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("lost", Outcome.ACCEPTED),
        ("garbage", Outcome.ACCEPTED),
        ("drop", Outcome.DROPPED),
        ("stall", Outcome.DROPPED),
    ],
)
async def test_an_answer_lost_after_the_final_dot_is_recorded_for_what_it_was(
    tmp_path: Path, kind: str, outcome: Outcome
) -> None:
    async with running(tmp_path, behaviour=BRIEF) as far_end:
        with pytest.raises((aiosmtplib.SMTPServerDisconnected, aiosmtplib.SMTPResponseException)):
            await send(far_end, f"{kind}+mia@example.com")
        (row,) = far_end.ledger().rows
    assert (row.outcome, row.answer_lost, row.status, row.key) == (outcome, True, None, "k1")


@pytest.mark.parametrize("abort", [False, True])
async def test_a_hanging_message_is_accepted_after_its_sender_has_gone(tmp_path: Path, abort: bool) -> None:
    async with running(tmp_path, behaviour=BRIEF) as far_end:
        async with raw(far_end) as connection:
            await connection.say(envelope("hang+mia@example.com") + b"Message-ID: <k1@x>\r\n\r\nhello\r\n.\r\n")
            assert await connection.codes(3) == [250, 250, 354]
            if abort:
                connection.writer.transport.abort()
        assert outcomes(far_end) == []
        await eventually(lambda: outcomes(far_end) == [Outcome.ACCEPTED])


async def test_a_slow_message_is_accepted_at_once_and_answered_late(tmp_path: Path) -> None:
    async with running(tmp_path, behaviour=BRIEF) as far_end:
        answer = asyncio.create_task(send(far_end, "slow+mia@example.com"))
        await eventually(lambda: outcomes(far_end) == [Outcome.ACCEPTED])
        assert not answer.done()
        assert "queued" in await answer


@pytest.mark.parametrize("tail", [b"", b"\r\n", b"\r\n.", b"\n.\n", b"\n.\r\n", b"\r\n.\n"])
async def test_a_message_that_breaks_off_before_its_final_dot_is_not_taken(tmp_path: Path, tail: bytes) -> None:
    async with running(tmp_path) as far_end, raw(far_end) as connection:
        await connection.say(envelope())
        assert await connection.codes(3) == [250, 250, 354]
        await connection.say(b"Message-ID: <k1@x>\r\n\r\nhello" + tail)
        await send(far_end, "noah@example.com", "k2")
    assert Ledger.read(tmp_path / "ledger.ndjson").accepted_keys() == {"k2": 1}


async def test_pipelined_commands_and_messages_are_answered_in_their_order(tmp_path: Path) -> None:
    async with running(tmp_path) as far_end, raw(far_end) as connection:
        one = envelope("permanent+mia@example.com") + b"Message-ID: <k1@x>\r\n\r\none\r\n.\r\n"
        two = envelope("noah@example.com") + b"Message-ID: <k2@x>\r\n\r\ntwo\r\n.\r\n"
        await connection.say(b"EHLO x\r\n" + one + two + b"QUIT\r\n")
        assert await connection.codes(10) == [250, 250, 250, 354, 550, 250, 250, 354, 250, 221]
        assert await asyncio.wait_for(connection.reader.read(), 10) == b""


@pytest.mark.parametrize(
    ("wire", "content"),
    [
        (b".\r\n", b""),
        (b"..\r\n.\r\n", b".\r\n"),
        (b"a\r\n..b\r\n...\r\n.\r\n", b"a\r\n.b\r\n..\r\n"),
        (b"a\n.\nb\r\n.\r\n", b"a\n.\nb\r\n"),
    ],
)
async def test_dots_are_unstuffed_and_a_bare_line_feed_ends_no_message(
    tmp_path: Path, wire: bytes, content: bytes
) -> None:
    async with running(tmp_path) as far_end, raw(far_end) as connection:
        await connection.say(envelope())
        await connection.codes(3)
        for byte in wire:
            await connection.say(bytes([byte]))
        assert await connection.codes(1) == [250]
        (row,) = far_end.ledger().rows
    assert row.payload_sha256 == hashlib.sha256(content).hexdigest()


async def test_a_message_takes_one_recipient(tmp_path: Path) -> None:
    async with running(tmp_path) as far_end, raw(far_end) as connection:
        await connection.say(b"MAIL FROM:<a@example.org>\r\nRCPT TO:<b@example.com>\r\nRCPT TO:<c@example.com>\r\n")
        assert await connection.codes(3) == [250, 250, 452]


@pytest.mark.parametrize(
    ("commands", "codes"),
    [
        (b"RCPT TO:<b@example.com>\r\nDATA\r\n", [503, 503]),
        (b"MAIL FROM:<>\r\nMAIL FROM:<>\r\nDATA\r\n", [250, 503, 554]),
        (b"MAIL FROM:<>\r\nRSET\r\nRCPT TO:<b@example.com>\r\n", [250, 250, 503]),
        (b"MAIL TO:<x>\r\nMAIL FROM:x\r\nMAIL FROM:<> SIZE=x\r\nMAIL FROM:<> X=1\r\n", [501, 501, 501, 555]),
        (b"MAIL FROM:<a@example.org> SIZE=1001\r\n", [552]),
        (b'mail from:<"a> b"@example.org> BODY=8BITMIME SMTPUTF8\r\nRCPT TO:<>\r\n', [250, 501]),
        (b"HELO x\r\nNOOP\r\nVRFY x\r\nBDAT 1 LAST\r\nSTARTTLS\r\nAUTH PLAIN x\r\n", [250, 250, 252, 500, 502, 503]),
        (b"x" * 200_000 + b"\r\nNOOP\r\n", [500, 250]),
    ],
)
async def test_commands_out_of_order_or_out_of_form_are_refused(
    tmp_path: Path, commands: bytes, codes: list[int]
) -> None:
    async with running(tmp_path, max_bytes=1000) as far_end, raw(far_end) as connection:
        await connection.say(commands)
        assert await connection.codes(len(codes)) == codes
        assert outcomes(far_end) == []


async def test_a_message_above_the_size_limit_is_not_taken(tmp_path: Path) -> None:
    async with running(tmp_path, max_bytes=1000) as far_end, raw(far_end) as connection:
        await connection.say(envelope() + b"x" * 200_000 + b"\r\n.\r\n" + envelope("noah@example.com") + b"y\r\n.\r\n")
        assert await connection.codes(8) == [250, 250, 354, 552, 250, 250, 354, 250]
        assert [row.to for row in far_end.ledger().rows] == ["noah@example.com"]


async def test_an_international_address_is_kept_as_it_is(tmp_path: Path) -> None:
    async with running(tmp_path) as far_end:
        await send(far_end, "用户@例え.example")
        assert list(far_end.ledger().accepted()) == [("用户@例え.example", "smtp", "")]


@pytest.mark.parametrize("mechanism", ["plain", "login"])
async def test_a_sender_must_give_the_right_password(tmp_path: Path, mechanism: str) -> None:
    async with running(tmp_path, smtp_user="mailer", smtp_password="right") as far_end:
        async with connected(far_end) as client:
            with pytest.raises(aiosmtplib.SMTPSenderRefused, match=r"5\.7\.0"):
                await client.send_message(message("mia@example.com"))
            login = getattr(client, f"auth_{mechanism}")
            with pytest.raises(aiosmtplib.SMTPAuthenticationError, match=r"5\.7\.8"):
                await login("mailer", "wrong")
            await login("mailer", "right")
            await client.send_message(message("mia@example.com"))
        assert outcomes(far_end) == [Outcome.ACCEPTED]


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, ssl.SSLContext]:
    authority = trustme.CA()
    file = tmp_path / "far-end.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(file))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return file, context


@pytest.mark.parametrize("tls", [SmtpTls.STARTTLS, SmtpTls.IMPLICIT])
async def test_messages_come_in_through_tls_and_only_there_is_auth_offered(
    tmp_path: Path, certificate: tuple[Path, ssl.SSLContext], tls: SmtpTls
) -> None:
    file, context = certificate
    settings = {"tls_certificate": file, "smtp_tls": tls, "smtp_user": "mailer", "smtp_password": "right"}
    starttls = tls is SmtpTls.STARTTLS
    async with running(tmp_path, **settings) as far_end:
        options = {"tls_context": context, "start_tls": starttls, "use_tls": not starttls}
        async with connected(far_end, **options) as client:
            await client.login("mailer", "right")
            await client.send_message(message("mia@example.com"))
        if starttls:
            async with connected(far_end) as client:
                await client.ehlo()
                assert "starttls" in client.esmtp_extensions
                assert "auth" not in client.esmtp_extensions
        assert outcomes(far_end) == [Outcome.ACCEPTED]


async def test_plain_commands_behind_starttls_end_the_session(
    tmp_path: Path, certificate: tuple[Path, ssl.SSLContext]
) -> None:
    settings = {"tls_certificate": certificate[0], "smtp_tls": SmtpTls.STARTTLS}
    async with running(tmp_path, **settings) as far_end, raw(far_end) as connection:
        await connection.say(b"EHLO x\r\nSTARTTLS\r\n" + envelope())
        assert await connection.codes(2) == [250, 421]
        assert await asyncio.wait_for(connection.reader.read(), 10) == b""


async def test_a_failed_handshake_leaves_the_far_end_serving_and_is_no_error_of_it(
    tmp_path: Path, certificate: tuple[Path, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"tls_certificate": certificate[0], "smtp_tls": SmtpTls.STARTTLS}
    async with running(tmp_path, **settings) as far_end:
        untrusting = ssl.create_default_context()
        with pytest.raises(ssl.SSLCertVerificationError):
            await send(far_end, "mia@example.com", start_tls=True, tls_context=untrusting)
        async with raw(far_end) as connection:
            await connection.say(b"STARTTLS\r\n")
            assert await connection.codes(1) == [220]
            await connection.say(b"this is no handshake\r\n")
            with contextlib.suppress(ConnectionError):
                await asyncio.wait_for(connection.reader.read(), 10)
        await send(far_end, "mia@example.com", start_tls=True, tls_context=certificate[1])
    gc.collect()
    assert not caplog.records


async def test_what_was_said_before_tls_is_forgotten_inside_it(
    tmp_path: Path, certificate: tuple[Path, ssl.SSLContext]
) -> None:
    settings = {"tls_certificate": certificate[0], "smtp_tls": SmtpTls.STARTTLS}
    async with running(tmp_path, **settings) as far_end, raw(far_end) as connection:
        await connection.say(b"EHLO x\r\nMAIL FROM:<a@example.org>\r\nSTARTTLS\r\n")
        assert await connection.codes(3) == [250, 250, 220]
        await connection.writer.start_tls(certificate[1], server_hostname="127.0.0.1")
        await connection.say(b"RCPT TO:<b@example.com>\r\n")
        assert await connection.codes(1) == [503]


async def test_a_key_in_use_is_a_conflict(tmp_path: Path) -> None:
    behaviour = Behaviour(smtp_key_window=60, hang_seconds=0.3)
    async with running(tmp_path, behaviour=behaviour, overrides=(("*", "hang9"),)) as far_end:
        both = (send(far_end, "mia@example.com") for _ in range(2))
        answers = await asyncio.gather(*both, return_exceptions=True)
        (conflict,) = far_end.ledger().with_outcome(Outcome.CONFLICT)
    assert sorted(isinstance(answer, aiosmtplib.SMTPDataError) for answer in answers) == [False, True]
    assert (conflict.cause, conflict.status) == (Cause.KEY_IN_USE, 450)


async def test_an_idle_session_is_told_of_the_end(tmp_path: Path) -> None:
    async with running(tmp_path) as far_end:
        reader, writer = await asyncio.open_connection("127.0.0.1", far_end.smtp_port)
        assert (await reader.readline()).startswith(b"220")
    assert (await reader.readline()).startswith(b"421 4.3.2")
    writer.close()


async def test_an_outage_that_answers_says_421_and_closes(tmp_path: Path) -> None:
    async with running(tmp_path) as far_end:
        async with raw(far_end) as connection:
            await far_end.control({"outage": "answer"})
            await connection.say(envelope() + b"Message-ID: <k1@x>\r\n\r\nhello\r\n.\r\n")
            assert await connection.codes(4) == [250, 250, 354, 421]
            assert await asyncio.wait_for(connection.reader.read(), 10) == b""
        with pytest.raises(aiosmtplib.SMTPConnectError):
            await send(far_end, "mia@example.com")
        assert outcomes(far_end) == [Outcome.TRANSIENT]


async def test_chances_hold_for_smtp_too(tmp_path: Path) -> None:
    behaviour = Behaviour(chances=Chances(transient=0.5))
    async with running(tmp_path, behaviour=behaviour, seed=3) as far_end, connected(far_end) as client:
        for number in range(60):
            with contextlib.suppress(aiosmtplib.SMTPDataError):
                await client.send_message(message(f"u{number}@example.com", f"k{number}"))
        counts = far_end.ledger().outcomes()
    assert 15 <= counts[Outcome.TRANSIENT] <= 45
