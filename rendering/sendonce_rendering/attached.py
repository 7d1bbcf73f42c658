"""A file that goes with every mail of a campaign, ready to be put into it: encoded once, frozen by its SHA-256."""

from __future__ import annotations

import hashlib
from binascii import b2a_base64
from dataclasses import dataclass, field

__all__ = ["AttachedFile", "encoded", "sum_of"]

_BYTES_PER_LINE = 57  # RFC 2045 §6.8: 76 characters


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file. `content_id`: html names it as `cid:…`, and it is shown there. `sha256` is in hex.

    `base64` has the file in lines that end with CRLF; it is empty where a message is only shown.
    """

    name: str
    media_type: str
    content_id: str | None
    sha256: str
    base64: bytes = field(default=b"", repr=False)


def encoded(data: bytes) -> bytes:
    """Return base64 in lines of 76 characters that end with CRLF."""
    lines = [b2a_base64(data[at : at + _BYTES_PER_LINE], newline=False) for at in range(0, len(data), _BYTES_PER_LINE)]
    return b"".join([line + b"\r\n" for line in lines])


def sum_of(data: bytes) -> str:
    """Return the SHA-256 of a file, in hex."""
    return hashlib.sha256(data).hexdigest()
