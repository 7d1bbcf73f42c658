"""Whatever a recipient's data holds, the header of the mail is the campaign's: nothing can be put into it."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from sendonce_rendering import AttachedFile, Content, RenderError, compile_message
from sendonce_rendering.attached import encoded
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import PermanentSendError
from sendonce_worker.providers.smtp.mime import build_mail

KEY = "6f1c0f8e-5a5e-4c1b-9a3e-0123456789ab"
DATE = datetime(2026, 12, 1, tzinfo=UTC)
NAMES = ["From", "To", "Reply-To", "Subject", "Date", "Message-ID", "X-Tag", "MIME-Version", "Content-Type"]
TEMPLATE = {
    "from": "{{ a }} <news@example.com>",
    "replyTo": "{{ b }} <desk@example.com>",
    "subject": "{{ a }}{{ b }}",
    "text": "{{ a }}\n{{ b }}",
    "html": "<p title='{{ a }}'>{{ b }}</p>",
    "headers": {"X-Tag": "{{ b }}"},
}
LETTER = compile_message(TEMPLATE, "Email")
SUBJECT = compile_message({"from": "news@example.com", "subject": "{{ a }}", "text": "t"}, "Email")
# what breaks lines somewhere, what begins fields and parts, and anything else
ODD = st.sampled_from(
    ["\r\n", "\n", "\r", "\r\nBcc: eve@example.com", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\0",
     "=?utf-8?B?", "?=", "=?utf-8?Q?=0D=0ABcc:_eve@example.com?=", ",", ";", ":", "<", ">", '"', "\\", "(", ")", "@",
     "\r\n.\r\n", f"--=_sendonce_{KEY}", " ", "\t", "é", "🙂", "\u202e"]
)  # fmt: skip
VALUES = st.lists(ODD | st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=6).map("".join)


def headers_of(content: Content, to: str = "ann@example.org") -> tuple[list[str], bytes]:
    data = build_mail(Message(KEY, "Email", to, content, DATE, "1-1", {})).data
    head, _, _ = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert all(b"\r" not in line and b"\n" not in line for line in lines)
    return [line.partition(b":")[0].decode("ascii") for line in lines if line[:1] not in b" \t"], data


@given(a=VALUES, b=VALUES)
@example(a="", b=f"--=_sendonce_{KEY}")
def test_no_variable_adds_a_field_to_the_header(a: str, b: str) -> None:
    try:
        names, data = headers_of(LETTER.render({"a": a, "b": b}))
    except (RenderError, PermanentSendError):
        return  # refused, for this recipient alone
    assert names == NAMES
    parsed = email.message_from_bytes(data.replace(b"\r\n..", b"\r\n."), policy=email.policy.SMTP)
    assert [part.get_content_type() for part in parsed.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert b"\r\n.\r\n" not in data


@given(a=VALUES)
def test_a_subject_arrives_as_it_was_or_not_at_all(a: str) -> None:
    try:
        names, data = headers_of(SUBJECT.render({"a": a}))
    except (RenderError, PermanentSendError):
        return
    assert "Bcc" not in names
    parsed = email.message_from_bytes(data, policy=email.policy.SMTP)
    assert str(parsed["Subject"] or "").split() == a.split()


@given(to=VALUES)
def test_no_address_adds_a_field_to_the_header(to: str) -> None:
    content = Content(sender="news@example.com", subject="s", text="t")
    try:
        names, _ = headers_of(content, f"ann{to}@example.org")
    except PermanentSendError:
        return
    assert names == [
        "From",
        "To",
        "Subject",
        "Date",
        "Message-ID",
        "MIME-Version",
        "Content-Type",
        "Content-Transfer-Encoding",
    ]


@given(name=st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1, max_size=128))
def test_no_file_name_adds_a_field_or_a_part(name: str) -> None:
    file = AttachedFile(name, "application/pdf", None, "0" * 64, encoded(b"data"))
    _, data = headers_of(Content(sender="news@example.com", subject="s", text="t", attachments=(file,)))
    assert max(map(len, data.split(b"\r\n"))) <= 998
    parsed = email.message_from_bytes(data, policy=email.policy.SMTP)
    parts = list(parsed.walk())
    assert [part.get_content_type() for part in parts] == ["multipart/mixed", "text/plain", "application/pdf"]
    assert [key for key, _ in parts[2].items()] == ["Content-Type", "Content-Transfer-Encoding", "Content-Disposition"]
    assert (parts[2].get_filename() or "").split() == name.split()
