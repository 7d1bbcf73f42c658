"""From a message to the bytes of a mail, read back by the standard library."""

from __future__ import annotations

import email
import email.policy
import re
from base64 import b64decode
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sendonce_rendering.content import Content
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import AccountError, PermanentSendError
from sendonce_worker.providers.smtp.mime import build_mail

KEY = "6f1c0f8e-5a5e-4c1b-9a3e-0123456789ab"


def message(**parts: Any) -> Message:
    to = parts.pop("to", "ann@example.org")
    content = Content(**({"sender": "News <news@example.com>", "subject": "Hello", "text": "Hi"} | parts))
    date = datetime(2026, 12, 1, 18, 30, tzinfo=timezone(timedelta(hours=9)))
    return Message(KEY, "Email", to, content, date, "7-3", {})


def unstuffed(data: bytes) -> bytes:
    return data.replace(b"\r\n..", b"\r\n.")


def read(data: bytes) -> EmailMessage:
    return email.message_from_bytes(unstuffed(data), policy=email.policy.SMTP)


def text_of(part: Any) -> str:
    content: str = part.get_content()
    return content.replace("\r\n", "\n")


def test_the_headers_of_a_plain_mail_in_their_order() -> None:
    mail = build_mail(
        message(reply_to="help@example.com", headers=(("List-Unsubscribe", "<https://example.com/u/1>"),))
    )
    assert mail.data.decode("ascii").split("\r\n") == [
        "From: News <news@example.com>",
        "To: ann@example.org",
        "Reply-To: help@example.com",
        "Subject: Hello",
        "Date: Tue, 01 Dec 2026 09:30:00 +0000",
        f"Message-ID: <{KEY}@example.com>",
        "List-Unsubscribe: <https://example.com/u/1>",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: 7bit",
        "",
        "Hi",
        "",
    ]
    assert (mail.sender.text, mail.to.text, mail.utf8) == ("news@example.com", "ann@example.org", False)


def test_text_and_html_are_alternatives_and_html_comes_last() -> None:
    parsed = read(build_mail(message(text="plain", html="<p>rich</p>")).data)
    assert parsed.get_content_type() == "multipart/alternative"
    assert parsed.get_boundary() == f"=_sendonce_{KEY}"
    parts = list(cast("Any", parsed.iter_parts()))
    assert [part.get_content_type() for part in parts] == ["text/plain", "text/html"]
    assert [text_of(part) for part in parts] == ["plain\n", "<p>rich</p>\n"]


def test_html_alone_is_html() -> None:
    assert read(build_mail(message(text=None, html="<p>rich</p>")).data).get_content_type() == "text/html"


def test_a_retry_sends_the_same_bytes() -> None:
    first = message(text="plain", html="<p>rich</p>")
    assert build_mail(first).data == build_mail(replace(first, maybe_accepted=True)).data


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_any_text_arrives_as_it_was_with_line_ends_made_alike(text: str) -> None:
    data = build_mail(message(text=text, html=f"<p>{text}</p>")).data
    assert not data.replace(b"\r\n", b"").count(b"\n"), "every line ends with CRLF"
    assert max(map(len, data.split(b"\r\n"))) <= 998 + 1
    assert data.isascii()
    expected = text.replace("\r\n", "\n").replace("\r", "\n")
    parts = list(cast("Any", read(data).iter_parts()))
    got = [part.get_payload(decode=True).decode().replace("\r\n", "\n") for part in parts]
    assert got[0].removesuffix("\n") == expected.removesuffix("\n")
    assert got[1].removesuffix("\n") == f"<p>{expected}</p>"


@pytest.mark.parametrize(
    ("text", "coding"),
    [
        ("plain ASCII", "7bit"),
        ("a" * 998, "7bit"),
        ("a" * 999, "quoted-printable"),
        ("mostly ASCII, with one é", "quoted-printable"),
        ("with a \x00 in it", "quoted-printable"),
        ("こんにちは、田中様。", "base64"),
    ],
)
def test_the_coding_suits_the_text(text: str, coding: str) -> None:
    parsed = read(build_mail(message(text=text)).data)
    assert parsed["Content-Transfer-Encoding"] == coding
    payload = cast("bytes", parsed.get_payload(decode=True))
    assert payload.decode().removesuffix("\r\n") == text


def test_lines_that_begin_with_a_dot_are_stuffed_in_every_coding() -> None:
    for text in (".\n..\n.x", "." + "é" * 3 + "\n.\n", "a" * 1000 + "\n.\n"):
        data = build_mail(message(text=text)).data
        assert b"\r\n.\r\n" not in data
        assert read(data).get_payload(decode=True).decode().replace("\r\n", "\n").rstrip() == text.rstrip()  # type: ignore[union-attr]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=300))
def test_any_subject_arrives_as_it_was(subject: str) -> None:
    data = build_mail(message(subject=subject)).data
    head = data.split(b"\r\n\r\n", 1)[0]
    assert head.isascii()
    if not subject.isascii():
        assert max(map(len, head.split(b"\r\n"))) <= 78
    assert str(read(data)["Subject"]).split() == subject.split()


def test_each_encoded_word_of_a_subject_holds_whole_characters() -> None:
    head = build_mail(message(subject="a" + "田中様" * 30)).data.split(b"\r\n\r\n", 1)[0]
    words = re.findall(rb"=\?utf-8\?B\?([^?]+)\?=", head)
    assert len(words) > 1
    assert "".join(b64decode(word).decode() for word in words) == "a" + "田中様" * 30


def test_a_long_header_is_folded_at_spaces_and_a_long_address_stays_whole() -> None:
    address = f"<https://example.com/u/{'x' * 120}>"
    data = build_mail(message(headers=(("List-Unsubscribe", f"{address}, <mailto:u@example.com>"),))).data
    assert f"List-Unsubscribe: {address},\r\n <mailto:u@example.com>\r\n".encode() in data


@pytest.mark.parametrize(
    ("sender", "line"),
    [
        ("news@example.com", b"From: news@example.com\r\n"),
        ('"Shop, the" <news@example.com>', b'From: "Shop, the" <news@example.com>\r\n'),
        ("Bücher <news@bücher.example>", b"From: =?utf-8?q?B=C3=BCcher?= <news@xn--bcher-kva.example>\r\n"),
    ],
)
def test_senders_as_people_write_them(sender: str, line: bytes) -> None:
    assert build_mail(message(sender=sender)).data.startswith(line)


def test_without_a_sender_the_campaign_is_stopped_and_nobody_is_burnt() -> None:
    with pytest.raises(AccountError, match=r"no_sender: .* set template\.from"):
        build_mail(message(sender=None))


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({"sender": ""}, "invalid_sender"),
        ({"sender": "nobody"}, "invalid_sender"),
        ({"sender": "a@example.com, b@example.com"}, "invalid_sender"),
        ({"sender": "News\r\nBcc: x@example.org <news@example.com>"}, "header_injection"),
        ({"subject": "Hello\r\nBcc: x@example.org"}, "header_injection"),
        ({"subject": "Hello\nBcc: x@example.org"}, "header_injection"),
        ({"subject": "Grüße\r\nBcc: x@example.org"}, "header_injection"),
        ({"subject": "Hello\x00"}, "header_injection"),
        ({"reply_to": "a@example.com\r\nX: y"}, "header_injection"),
        ({"headers": (("X-A", "b\r\nBcc: x@example.org"),)}, "header_injection"),
        ({"headers": (("X-A: b\r\nBcc", "x@example.org"),)}, "header_injection"),
        ({"headers": (("Bcc", "x@example.org"),)}, "header_not_allowed"),
        ({"headers": (("content-type", "text/html"),)}, "header_not_allowed"),
        ({"headers": (("X-A", "b" * 1000),)}, "header_too_long"),
        ({"to": "ann@example.org>\r\nDATA"}, "invalid_address"),
        ({"to": "ann@example.org, bob@example.org"}, "invalid_address"),
        ({"to": "ann"}, "invalid_address"),
        ({"text": "half \ud83d"}, "not_encodable"),
        ({"subject": "half \ud83d"}, "not_encodable"),
    ],
)
def test_what_cannot_be_a_mail_is_refused_for_good(parts: dict[str, Any], code: str) -> None:
    with pytest.raises(PermanentSendError) as caught:
        build_mail(message(**parts))
    assert caught.value.code == code


def test_the_date_is_that_of_the_first_attempt_in_utc() -> None:
    moved = replace(message(), date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert read(build_mail(moved).data)["Date"] == "Fri, 02 Jan 2026 03:04:05 +0000"
