"""What SMTP refusals are taken for: replies as servers really write them."""

from __future__ import annotations

import time

import pytest

from sendonce_worker.providers.errors import Kind
from sendonce_worker.providers.smtp.classification import Stage, classify, enhanced_code, stated_wait
from sendonce_worker.providers.smtp.refusals import refusal
from sendonce_worker.providers.smtp.replies import GarbageReplyError, Reply, ReplyReader

P, T, R, A, U = Kind.PERMANENT, Kind.TEMPORARY, Kind.RATE_LIMITED, Kind.ACCOUNT, Kind.UNKNOWN


# https://support.google.com/a/answer/3726730
UNSOLICITED = (
    "Our system has detected an unusual rate of unsolicited mail originating from your IP address. To protect our "
    "users from spam, mail sent from your IP address"
)


def kind_of(stage: Stage, line: str) -> Kind:
    code, text = int(line[:3]), line[4:]
    return classify(stage, code, enhanced_code(text), text).kind


@pytest.mark.parametrize(
    "line",
    [
        "550 5.4.5 Daily sending quota exceeded",
        "550 5.4.5 Daily user sending quota exceeded.",
        "550 Connection frequency limited",
        "554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException",
        "554 5.7.0 The limit on the number of allowed outgoing messages was exceeded. Try again later",
        "550 5.4.6 Unusual sending activity: mail rate exceeded limit",
        "550 Too many messages. Try again in 92 seconds",
        "550 Domain example.com has exceeded the max emails per hour (200/200) allowed",
        "550 Domain example.com has exceeded the max defers and failures per hour (5/5) allowed",
        "421 4.7.0 Our system has detected an unusual rate, your mail has been temporarily rate limited",
        "454 Throttling failure: Maximum sending rate exceeded.",
        "454 Throttling failure: Daily message quota exceeded.",
        "421 Too many connections from your host",
        "421 too many concurrent SMTP sessions",
        "450 try again slower",
        "452 4.5.3 Too many recipients",
        "454 4.7.0 Temporarily not available",
        "452 4.3.1 Insufficient system storage",
        "550 5.7.28 mail flood",
        "550 5.4.5 Daily user sending limit exceeded. For more information on Gmail 5.4.5 sending limits go to",
        "550 5.4.5 Daily SMTP relay limit exceeded for customer.",
        "450 4.2.1 Peak SMTP relay limit exceeded for customer.",
        "550 5.4.5 Over quota for today",
        "554 5.2.0 User news@example.com has exceeded its 24-hour sending limit. Messages to 25 recipients out of 25",
        "432 4.3.2 STOREDRV.ClientSubmit; sender thread limit exceeded",
        "432 4.3.2 Concurrent connections limit exceeded",
        f"421 4.7.28 {UNSOLICITED} has been temporarily rate limited.",
        f"421 4.7.0 {UNSOLICITED} has been temporarily blocked.",
    ],
)
def test_throttling_is_recognised_also_where_it_is_dressed_up_as_permanent(line: str) -> None:
    assert kind_of(Stage.RCPT, line) is R
    assert kind_of(Stage.MESSAGE, line) is R


@pytest.mark.parametrize(
    ("stage", "line", "kind"),
    [
        (Stage.RCPT, "550 5.1.1 The email account that you tried to reach does not exist", P),
        (Stage.RCPT, "550 No such user here", P),
        (Stage.RCPT, "553 5.1.3 bad address", P),
        (Stage.RCPT, "501 5.1.3 bad recipient syntax", P),
        (Stage.RCPT, "550 5.2.1 mailbox disabled", P),
        (Stage.RCPT, "552 5.2.2 mailbox full", P),
        (Stage.RCPT, "550 5.7.133 sender not authenticated for group", P),
        (Stage.MESSAGE, "552 5.3.4 message too big", P),
        (Stage.MAIL, "552 message size exceeds fixed limit", P),
        (Stage.MESSAGE, "554 5.6.0 bad content", P),
        (Stage.RCPT, "450 4.7.1 Client host rejected: Greylisted, try again in 300 seconds", T),
        (Stage.RCPT, "451 4.7.1 Please try again later", T),
        (Stage.RCPT, "450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents more", T),
        (Stage.RCPT, "550 5.2.1 The user you are trying to contact is receiving mail too quickly", T),
        (Stage.RCPT, "452 4.2.2 The email account that you tried to reach is over quota", T),
        (Stage.RCPT, "450 mailbox busy", T),
        (Stage.RCPT, "552 many, too many recipients", R),
        (Stage.MESSAGE, "451 4.3.0 queue file write error", T),
        (Stage.MAIL, "421 4.3.2 shutting down", T),
        (Stage.DATA, "503 5.5.1 bad sequence of commands", T),
        (Stage.GREETING, "421 busy", R),
        (Stage.GREETING, "554 5.7.1 you are listed", A),
        (Stage.AUTH, "535 5.7.8 Username and password not accepted", A),
        (Stage.AUTH, "454 4.7.0 Temporary authentication failure", R),
        (Stage.MAIL, "530 5.7.0 Authentication required", A),
        (Stage.MAIL, "553 5.1.8 sender domain not found", A),
        (Stage.MAIL, "550 sender rejected", A),
        (Stage.RCPT, "554 5.7.1 relay access denied", A),
        (Stage.RCPT, "550 relay not permitted", A),
        (Stage.RCPT, "451 Authentication failed: Maximum credits exceeded", A),
        (Stage.MESSAGE, "550 5.7.1 an unusual rate of unsolicited mail originating from your IP", A),
        (Stage.MESSAGE, f"550 5.7.1 {UNSOLICITED} has been blocked.", A),
        (Stage.MESSAGE, "550 5.7.26 unauthenticated mail", A),
        (Stage.DATA, "250 what", T),
        (Stage.MESSAGE, "354 what", U),
    ],
)
def test_a_refusal_is_taken_for_what_it_means_at_its_stage(stage: Stage, line: str, kind: Kind) -> None:
    assert kind_of(stage, line) is kind


@pytest.mark.parametrize(
    "line",
    [
        "550 5.1.1 <ann@corp.example>: Recipient address rejected: User unknown in relay recipient table",
        "550 User unknown in relay recipient table",
        "553 5.1.1 no such user in this relay domain",
        "550 5.1.1 no such mailbox, or not authenticated to see it",
        "550 5.1.10 recipient not found; not permitted to send",
        "550 5.2.1 <ann@corp.example>: this account has been suspended",
        "550 5.2.1 account ann is suspended",
    ],
)
def test_one_recipient_who_is_not_there_never_stops_the_campaign(line: str) -> None:
    assert kind_of(Stage.RCPT, line) is P


def test_a_mail_that_is_too_big_is_not_taken_for_throttling() -> None:
    assert kind_of(Stage.MESSAGE, "552 5.3.4 exceeded the maximum message size limit") is P
    assert kind_of(Stage.MESSAGE, "552 5.3.4 message size limit exceeded") is P


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Too many messages. Try again in 92 seconds", 92),
        ("Greylisted for 5 minutes, please retry in 5 minutes", 300),
        ("please wait 2 hours", 7200),
        ("try again after 300s", 300),
        ("try again in 99999999 seconds", None),
        ("try again in 999999 hours", 86400),
        ("try again later", None),
        ("http://example.com/99", None),
    ],
)
def test_a_wait_is_read_from_the_words(text: str, seconds: float | None) -> None:
    assert stated_wait(text) == seconds


def test_the_wait_goes_with_throttling_and_greylisting_but_not_with_a_permanent_refusal() -> None:
    assert classify(Stage.RCPT, 550, None, "Too many messages. Try again in 92 seconds").retry_after == 92
    assert classify(Stage.RCPT, 451, None, "greylisted, retry in 60 seconds").retry_after == 60
    assert classify(Stage.RCPT, 550, "5.1.1", "no user, do not try again in 60 seconds").retry_after is None


def test_an_endless_hostile_reply_is_classified_in_no_time() -> None:
    begun = time.perf_counter()
    classify(Stage.RCPT, 550, None, "exceeded " + "message " * 100_000)
    assert time.perf_counter() - begun < 1


def test_the_error_has_the_enhanced_code_and_the_servers_words() -> None:
    error = refusal(Stage.RCPT, Reply(550, [b"5.1.1 no such", b"5.1.1 user \xff here"]))
    assert (error.kind, error.code) == (P, "5.1.1")
    assert error.message == "550 5.1.1 no such 5.1.1 user � here"
    assert refusal(Stage.RCPT, Reply(550, [b"no"])).code == "550"


def test_replies_are_put_together_from_any_pieces() -> None:
    wire = b"250-one\r\n250-two\r\n250 three\r\n354 go\n220\r\n"
    for size in (1, 2, 3, 7, len(wire)):
        reader = ReplyReader()
        replies = [reply for at in range(0, len(wire), size) for reply in reader.feed(wire[at : at + size])]
        assert [reply.code for reply in replies] == [250, 354, 220]
        assert replies[0].text == "one two three"


@pytest.mark.parametrize("wire", [b"hello\r\n", b"25 x\r\n", b"2500 x\r\n", b"\r\n", b"x" * 5000, b"250-a\r\n" * 200])
def test_what_is_no_reply_is_garbage(wire: bytes) -> None:
    with pytest.raises(GarbageReplyError):
        list(ReplyReader().feed(wire))
