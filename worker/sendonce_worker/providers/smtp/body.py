"""The body of a mail: text, HTML, inline files and attachments as MIME parts (RFC 2045, 2046, 2183, 2387, 2392).

Flows in: a content and the message's key. Flows out: the body with the header fields that describe it, lines ending
with CRLF. Boundaries come from the key, files are encoded already: the same message always has the same bytes.

    mixed( alternative( text, related( html, inline files ) ), attachments )      of which each level may be missing
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote

from sendonce_rendering.attached import AttachedFile
from sendonce_rendering.content import Content, Pieces
from sendonce_worker.providers.smtp.coding import BOUNDARY, transfer_encoded

__all__ = ["body_of"]

# of a name, in one piece of a parameter: each may become twelve (RFC 2231 §3)
_CHARACTERS = 5


def body_of(content: Content, key: str) -> bytes:
    """Return the body, from its Content-Type on. Raises ``PermanentSendError`` for half characters."""
    inline = [one for one in content.attachments if one.content_id is not None and content.html is not None]
    attached = [one for one in content.attachments if one not in inline]
    body = _readable(content, inline, key)
    if not attached:
        return body
    return _multipart(b"mixed", f"{BOUNDARY}mixed_{key}", [body, *(_file(one) for one in attached)])


def _readable(content: Content, inline: Sequence[AttachedFile], key: str) -> bytes:
    if content.html is None:
        return _part(b"plain", content.text or "", content.text_pieces)
    rich = _part(b"html", content.html, content.html_pieces)
    if inline:
        parts = [rich, *(_file(one) for one in inline)]
        rich = _multipart(b"related", f"{BOUNDARY}related_{key}", parts, b' type="text/html";')
    if content.text is None:
        return rich
    plain = _part(b"plain", content.text, content.text_pieces)
    return _multipart(b"alternative", f"{BOUNDARY}{key}", [plain, rich])


def _multipart(subtype: bytes, name: str, parts: Sequence[bytes], more: bytes = b"") -> bytes:
    boundary = name.encode("ascii")
    head = b'Content-Type: multipart/%b;%b\r\n boundary="%b"\r\n\r\n' % (subtype, more, boundary)
    return b"%b--%b--\r\n" % (head + b"".join([b"--%b\r\n%b\r\n" % (boundary, part) for part in parts]), boundary)


def _part(subtype: bytes, text: str, pieces: Pieces | None) -> bytes:
    coding, body = transfer_encoded(text, pieces)
    return b"Content-Type: text/%b; charset=utf-8\r\nContent-Transfer-Encoding: %b\r\n\r\n%b" % (subtype, coding, body)


@lru_cache(maxsize=64)
def _file(one: AttachedFile) -> bytes:
    """Return a file's part; it is made once, for all mails of the campaign."""
    lines = [
        f"Content-Type: {one.media_type};",
        f" {_parameter('name', one.name)}",
        "Content-Transfer-Encoding: base64",
    ]
    disposition = "attachment" if one.content_id is None else "inline"
    lines += [f"Content-Disposition: {disposition};", f" {_parameter('filename', one.name)}"]
    if one.content_id is not None:
        lines.append(f"Content-ID: <{one.content_id}>")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + one.base64


def _parameter(name: str, value: str) -> str:
    """Write a parameter, beyond ASCII by RFC 2231."""
    if value.isascii():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{name}="{escaped}"'
    pieces = [quote(value[at : at + _CHARACTERS], safe="") for at in range(0, len(value), _CHARACTERS)]
    if len(pieces) == 1:
        return f"{name}*=utf-8''{pieces[0]}"
    begun = [f"{name}*0*=utf-8''{pieces[0]}", *(f"{name}*{no}*={piece}" for no, piece in enumerate(pieces[1:], 1))]
    return ";\r\n ".join(begun)
