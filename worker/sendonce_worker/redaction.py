"""Taking secrets and addresses out of what people and machines read.

Flows in: text, or a log record. Flows out: the same without registered secrets, without the passwords of URLs and
DSNs, and with addresses masked: `j***@example.com`, `+81******678`. Far ends quote addresses in their answers
("550 <jane@example.com> unknown"), so that masking cannot be left to whoever logs.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from urllib.parse import quote

from sendonce_store.logs import STANDARD_FIELDS

__all__ = ["Redactor", "mask_address"]

_HIDDEN = "***"
# A shorter secret would be found in ordinary words, and logs would become unreadable.
_SHORTEST_SECRET = 4
# Lines of a key file are secrets of their own: a parser quotes the line it stumbles over.
_SHORTEST_SECRET_LINE = 16

# Bounded repetition: a megabyte of letters must not be searched from each of its characters to its end.
_EMAIL = re.compile(r"[\w.!#$%&'+/=^`{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,10}")
_PHONE = re.compile(r"\+\d{8,15}(?!\d)")
_URL_PASSWORD = re.compile(r"""(://[^\s:@/"']{0,256}:)[^\s"'<>]{1,1024}@""")
_DSN_PASSWORD = re.compile(r"""(?i)\b(password|passwd|pwd)(\s{0,3}=\s{0,3})('[^']{0,1024}'|[^\s,;&"']+)""")

_PHONE_START, _PHONE_END = 3, 3
_SHORTEST_PHONE = 9
_TOKEN_START = 4
_SHORTEST_TOKEN = 12


def mask_address(address: str) -> str:
    """Return an address so that its owner can be recognised by who knows them, and by nobody else.

    Email addresses keep their first letter and domain, phone numbers three characters at each end, tokens and other
    identifiers their first four characters; what is too short for that is hidden altogether.
    """
    local, at, domain = address.rpartition("@")
    if at:
        return f"{local[:1] if len(local) > 1 else ''}{_HIDDEN}@{domain}"
    if address.startswith("+") and address[1:].isdigit():
        return _mask_phone(address)
    return f"{address[:_TOKEN_START]}{_HIDDEN}" if len(address) >= _SHORTEST_TOKEN else _HIDDEN


def _mask_phone(number: str) -> str:
    if len(number) < _SHORTEST_PHONE:
        return _HIDDEN
    hidden = "*" * (len(number) - _PHONE_START - _PHONE_END)
    return f"{number[:_PHONE_START]}{hidden}{number[-_PHONE_END:]}"


class Redactor(logging.Filter):
    """Knows the secrets of this process. As a logging filter it lets every record pass, redacted."""

    def __init__(self, *, show_addresses: bool = False) -> None:
        """Start with no secrets known. `show_addresses` leaves addresses as they are, for a person's own terminal."""
        super().__init__()
        self._show_addresses = show_addresses
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def register(self, secret: str | bytes) -> None:
        """Hide this value from now on, as it stands and as URLs and JSON write it. Under 4 characters: ignored."""
        text = secret.decode("utf-8", "replace") if isinstance(secret, bytes) else secret
        values = [text.strip(), *(line.strip() for line in text.splitlines() if len(line) >= _SHORTEST_SECRET_LINE)]
        for value in values:
            if len(value) >= _SHORTEST_SECRET:
                self._secrets |= {value, quote(value, safe=""), json.dumps(value)[1:-1], repr(value)[1:-1]}
        longest_first = sorted(self._secrets, key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def redact(self, text: str) -> str:
        """Return the text without what must not be read."""
        if self._pattern is not None:
            text = self._pattern.sub(_HIDDEN, text)
        if "@" in text:
            text = _URL_PASSWORD.sub(rf"\1{_HIDDEN}@", text)
        if "=" in text:
            text = _DSN_PASSWORD.sub(rf"\1\2{_HIDDEN}", text)
        return text if self._show_addresses else _with_masked_addresses(text)

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact a record in place: its message with its arguments, its traceback, its stack, its extra fields."""
        record.msg, record.args = self.redact(_message(record)), None
        if record.exc_info:
            record.exc_text = record.exc_text or _PLAIN.formatException(record.exc_info)
            record.exc_info = None  # a formatter would write it anew
        for name in ("exc_text", "stack_info"):
            if text := getattr(record, name):
                setattr(record, name, self.redact(text))
        for name in record.__dict__.keys() - STANDARD_FIELDS:
            record.__dict__[name] = self._redacted_value(record.__dict__[name])
        return True

    def _redacted_value(self, value: object) -> object:
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, Mapping):
            return {str(key): self._redacted_value(each) for key, each in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self._redacted_value(each) for each in value]
        return self.redact(str(value))


_PLAIN = logging.Formatter()


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        # A filter's error would end the code that logs; a handler's would be printed with the arguments in it.
        return f"{record.msg} (its arguments do not fit)"


def _with_masked_addresses(text: str) -> str:
    if "@" in text:
        text = _EMAIL.sub(lambda found: mask_address(found[0]), text)
    if "+" in text:
        text = _PHONE.sub(lambda found: mask_address(found[0]), text)
    return text
