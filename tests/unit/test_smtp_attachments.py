"""Files that go with a mail: read back by the standard library, and the same bytes each time."""

from __future__ import annotations

import email
import email.policy
import hashlib
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any

from sendonce_rendering import AttachedFile, Content
from sendonce_rendering.attached import encoded
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.smtp.mime import build_mail

KEY = "6f1c0f8e-5a5e-4c1b-9a3e-0123456789ab"


def file(name: str, data: bytes, media_type: str = "application/pdf", content_id: str | None = None) -> AttachedFile:
    return AttachedFile(name, media_type, content_id, hashlib.sha256(data).hexdigest(), encoded(data))


LOGO = file("logo.png", b"\x89PNG" + bytes(range(256)), "image/png", "logo")
TERMS = file("Preis “Liste” ü.pdf", b"%PDF\r\n.\r\n..")


def mail(*files: AttachedFile, **parts: Any) -> bytes:
    content = Content(**{"sender": "news@example.com", "subject": "s", "text": "t", "html": "<p>"} | parts)
    content = Content(content.sender, None, "s", content.text, content.html, (), files)
    return build_mail(
        Message(KEY, "Email", "ann@example.org", content, datetime(2026, 1, 1, tzinfo=UTC), "1-1", {})
    ).data


def tree(part: Any) -> Any:
    if part.is_multipart():
        return (part.get_content_subtype(), *(tree(one) for one in part.iter_parts()))
    return part.get_content_type()


def read(data: bytes) -> EmailMessage:
    return email.message_from_bytes(data.replace(b"\r\n..", b"\r\n."), policy=email.policy.SMTP)


def test_inline_files_are_related_to_the_html_and_others_come_after_all() -> None:
    assert tree(read(mail(LOGO, TERMS))) == (
        "mixed",
        ("alternative", "text/plain", ("related", "text/html", "image/png")),
        "application/pdf",
    )
    assert tree(read(mail(LOGO, text=None))) == ("related", "text/html", "image/png")
    assert tree(read(mail(TERMS, html=None))) == ("mixed", "text/plain", "application/pdf")


def test_an_inline_file_without_html_is_attached() -> None:
    assert tree(read(mail(LOGO, html=None))) == ("mixed", "text/plain", "image/png")


def test_files_arrive_as_they_were_with_their_names() -> None:
    parsed = read(mail(LOGO, TERMS))
    assert not [part.defects for part in parsed.walk() if part.defects]
    found = {part.get_filename(): part for part in parsed.walk() if part.get_filename()}
    assert set(found) == {"logo.png", "Preis “Liste” ü.pdf"}
    assert found["logo.png"].get_payload(decode=True) == b"\x89PNG" + bytes(range(256))
    assert (found["logo.png"]["Content-ID"], found["logo.png"].get_content_disposition()) == ("<logo>", "inline")
    assert found["Preis “Liste” ü.pdf"].get_payload(decode=True) == b"%PDF\r\n.\r\n.."
    assert found["Preis “Liste” ü.pdf"].get_content_disposition() == "attachment"


def test_a_retry_has_the_same_bytes_and_no_line_is_too_long() -> None:
    long = file("ü" * 128, b"x" * 10_000)
    data = mail(LOGO, long)
    assert data == mail(LOGO, long)
    assert max(map(len, data.split(b"\r\n"))) <= 78
    names = [part.get_filename() for part in read(data).walk() if part.get_filename()]
    assert names == ["logo.png", "ü" * 128]


def test_the_digest_of_a_content_is_of_its_files_too() -> None:
    plain = Content("a@example.com", None, "s", "t")
    with_file = Content("a@example.com", None, "s", "t", attachments=(TERMS,))
    other = Content("a@example.com", None, "s", "t", attachments=(file(TERMS.name, b"%PDF other"),))
    shown = Content(
        "a@example.com", None, "s", "t", attachments=(AttachedFile(TERMS.name, TERMS.media_type, None, TERMS.sha256),)
    )
    assert len({plain.digest(), with_file.digest(), other.digest()}) == 3
    assert shown.digest() == with_file.digest(), "shown without its bytes, it is the same content"
