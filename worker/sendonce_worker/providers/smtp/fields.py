"""Header fields of free text: encoded words and folding (RFC 5322 §2.2.3, RFC 2047).

In: a field's name and value. Out: its line or lines with CRLF. The usual case, short and ASCII, is one string
operation: a subject with the recipient's name in it is built for every recipient.
"""

from __future__ import annotations

import re
from binascii import b2a_base64

from sendonce_worker.providers.errors import PermanentSendError

_NAME = re.compile(r"[!-9;-~]{1,76}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_WIDTH = 76
_LONGEST_LINE = 998
_WORD_BYTES = 45
_WORD_FRAME = len("=?utf-8?B??=")


def checked_value(name: str, value: str) -> str:
    """Return the value. Raises ``PermanentSendError`` (header_injection) for line breaks and control characters."""
    if not value.isprintable() and _CONTROL.search(value):
        raise PermanentSendError("header_injection", f"the {name[:76]} header holds a line break or control character")
    return value


def field_line(name: str, value: str) -> bytes:
    """Encode one unstructured field. Raises ``PermanentSendError``."""
    if not _NAME.fullmatch(name):
        raise PermanentSendError("header_injection", f"{name[:76]!r} is no header name")
    value = checked_value(name, value).strip()
    if not value.isascii() or "=?" in value:
        return _encoded_words(name, value)
    line = f"{name}: {value}"
    if len(line) > _WIDTH:
        line = _folded(line, len(name) + 2)
    return line.encode("ascii") + b"\r\n"


def _folded(line: str, start: int) -> str:
    """Break at spaces; the space begins the next line. A word without spaces (an address of a page) stays whole."""
    pieces: list[str] = []
    while len(line) > _WIDTH:
        cut = line.rfind(" ", start + 1, _WIDTH + 1)
        if cut < 0:
            cut = line.find(" ", start + 1)
        if cut < 0:
            break
        pieces.append(line[:cut])
        line = line[cut:]
        start = len(line) - len(line.lstrip(" "))
    pieces.append(line)
    if max(map(len, pieces)) > _LONGEST_LINE:
        raise PermanentSendError(
            "header_too_long", f"a header word above {_LONGEST_LINE} characters: {pieces[0][:60]!r}"
        )
    return "\r\n".join(pieces)


def _encoded_words(name: str, value: str) -> bytes:
    try:
        data = value.encode()
    except UnicodeEncodeError as error:
        raise PermanentSendError("not_encodable", f"the {name} header holds half of a character") from error
    words = []
    at, room = 0, min(_WORD_BYTES, (_WIDTH - len(name) - 2 - _WORD_FRAME) // 4 * 3)
    while at < len(data):
        end = _character_end(data, at + max(room, 4))
        words.append(b"=?utf-8?B?%b?=" % b2a_base64(data[at:end], newline=False))
        at, room = end, _WORD_BYTES
    return f"{name}: ".encode("ascii") + b"\r\n ".join(words) + b"\r\n"


def _character_end(data: bytes, end: int) -> int:
    """Step back from the middle of a character: an encoded word holds whole ones (RFC 2047 §5)."""
    while end < len(data) and data[end] & 0xC0 == 0x80:  # noqa: PLR2004 - a UTF-8 continuation byte
        end -= 1
    return end
