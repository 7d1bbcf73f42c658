"""From a message to the bytes of a mail (RFC 5322, 2045–2047); `body` has its parts.

In: a :class:`Message`. Out: a :class:`Mail`: envelope and bytes, dot-stuffed and with CRLF line ends. They depend
on nothing but the message: Message-ID and boundary come from its key, the date from its first attempt, so a retry
sends the same bytes. Parts that SMTP cannot carry as they are become quoted-printable or base64, whatever the
server offers. Header injection ends here: a line break in any header value refuses the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache

from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import AccountError, PermanentSendError
from sendonce_worker.providers.smtp.addresses import Address, address_field, envelope_address
from sendonce_worker.providers.smtp.body import body_of
from sendonce_worker.providers.smtp.fields import field_line

_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OWN_FIELDS = frozenset(
    {"from", "to", "cc", "bcc", "subject", "date", "message-id", "reply-to", "mime-version", "sender", "return-path"}
)


@dataclass(frozen=True, slots=True)
class Mail:
    """What one transaction needs. ``data`` ends with CRLF, without a final dot; ``message_id`` is its Message-ID."""

    sender: Address
    to: Address
    data: bytes
    message_id: str

    @property
    def utf8(self) -> bool:
        """Say whether the server must offer SMTPUTF8."""
        return self.sender.utf8 or self.to.utf8


def build_mail(message: Message) -> Mail:
    """Build the mail. Raises ``PermanentSendError`` for what cannot be a mail, ``AccountError`` without a sender."""
    content = message.content
    if content.sender is None:
        raise AccountError("no_sender", "the message has no sender: set template.from to an address of yours")
    if not _KEY.fullmatch(message.key):
        raise PermanentSendError("bad_key", "the key must be letters, digits and hyphens")
    sender = address_field("From", content.sender)
    to = envelope_address(message.to)
    lines = [sender.line, f"To: {to.text}\r\n".encode()]
    if content.reply_to:
        lines.append(address_field("Reply-To", content.reply_to).line)
    lines.append(field_line("Subject", content.subject or ""))
    message_id = f"<{message.key}@{sender.first.domain}>"
    lines.append(f"Date: {_date(message.date)}\r\nMessage-ID: {message_id}\r\n".encode("ascii"))
    lines += [_own_checked(name, value) for name, value in content.headers]
    lines.append(b"MIME-Version: 1.0\r\n")
    lines.append(body_of(content, message.key))
    return Mail(sender.first, to, _dot_stuffed(b"".join(lines)), message_id)


@lru_cache(maxsize=256)
def _date(date: datetime) -> str:
    return format_datetime(date.astimezone(UTC))


def _own_checked(name: str, value: str) -> bytes:
    lower = name.lower()
    if lower in _OWN_FIELDS or lower.startswith("content-"):
        raise PermanentSendError("header_not_allowed", f"the header {name[:100]!r} is set by Sendonce itself")
    return field_line(name, value)


def _dot_stuffed(data: bytes) -> bytes:
    """Double leading dots (RFC 5321 §4.5.2); the first line is a header field and has none."""
    return data.replace(b"\r\n.", b"\r\n..") if b"\r\n." in data else data
