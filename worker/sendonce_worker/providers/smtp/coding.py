"""Text as SMTP can carry it: 7bit where it is plain, else quoted-printable or base64 (RFC 2045 §6).

Flows in: a body and, where they are known, the pieces that it is made of. Flows out: the coding and the bytes, which
end with CRLF. They depend on nothing but these: a retry sends the same. What a newsletter says to everybody is coded
once and remembered: coding 20 KB of HTML takes longer than everything else that a mail needs.
"""

from __future__ import annotations

from binascii import b2a_base64, b2a_qp
from functools import lru_cache

from sendonce_rendering.content import Pieces
from sendonce_worker.providers.errors import PermanentSendError

__all__ = ["BOUNDARY", "transfer_encoded"]

_LONGEST_LINE = 998
_PLAIN = bytes([*range(0x20, 0x7F), *b"\t\r\n"])
# pieces of templates that are remembered: a worker has one campaign, in at most five channels and a few languages
_REMEMBERED = 4_096
_SOFT_BREAK = b"=\r\n"
_QUOTED_LINE = 76  # RFC 2045 §6.7, the sign of a soft break included
BOUNDARY = "=_sendonce_"
"""How boundaries begin. A text with it is coded, so that nobody's data can end a part: "=" becomes "=3D"."""


def transfer_encoded(text: str, pieces: Pieces | None = None) -> tuple[bytes, bytes]:
    """Return the coding and the body. Raises ``PermanentSendError`` for half characters."""
    if "\r" in text:
        text, pieces = text.replace("\r\n", "\n").replace("\r", "\n"), None
    ended = text.endswith("\n")
    if not ended:
        text += "\n"
    if text.isascii() and BOUNDARY not in text and _is_plain(text, plain := _bytes(text)):
        return b"7bit", plain
    size = len(pieces.utf8) + (not ended) if pieces is not None else _size(text)
    # by how many characters are beyond ASCII: base64 makes four bytes of three, quoted-printable six of two
    if size < len(text) * 7 / 6:
        return b"quoted-printable", _quoted(text, pieces)
    encoded = b2a_base64(_bytes(text), newline=False)
    return b"base64", b"".join([encoded[at : at + 76] + b"\r\n" for at in range(0, len(encoded), 76)])


def _size(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise PermanentSendError("not_encodable", f"the body holds half of a character: {error.reason}") from error


def _is_plain(text: str, data: bytes) -> bool:
    """Say whether SMTP carries this as it is: printable, in lines that are short enough."""
    short = len(data) <= _LONGEST_LINE or max(map(len, text.split("\n"))) <= _LONGEST_LINE
    return short and not data.translate(None, _PLAIN)


def _quoted(text: str, pieces: Pieces | None) -> bytes:
    if pieces is None:
        return b2a_qp(_bytes(text), istext=True)
    coded: list[bytes] = []
    between: list[str] = []
    for piece in pieces.parts:
        if piece in pieces.literals:
            coded += [_lines("".join(between)), _literal(piece)]
            between.clear()
        else:
            between.append(piece)
    coded.append(_lines("".join(between)))
    body = b"".join(coded)
    return body.removesuffix(_SOFT_BREAK) + b"\r\n" if body.endswith(_SOFT_BREAK) else body


@lru_cache(maxsize=_REMEMBERED)
def _literal(piece: str) -> bytes:
    return _lines(piece)


def _lines(text: str) -> bytes:
    """Code a piece into whole lines: what follows begins on a line of its own, by a soft break."""
    if not text:
        return b""
    coded = b2a_qp(_bytes(text), istext=True)
    if "\n" not in text:
        coded = coded.replace(b"\n", b"\r\n")  # its soft breaks are like the first line break that it meets
    if coded.endswith(b"\n"):
        return coded
    if len(coded) - coded.rfind(b"\n") > _QUOTED_LINE:
        # its last line has no room for the sign of a soft break: the last character goes to the next
        last = 3 if coded[-3:-2] == b"=" else 1
        coded = coded[:-last] + _SOFT_BREAK + coded[-last:]
    return coded + _SOFT_BREAK


def _bytes(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()
