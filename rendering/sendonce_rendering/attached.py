"""A file that goes with every mail of a campaign, ready to be put into it: encoded once, frozen by its SHA-256."""

from __future__ import annotations

import hashlib
from binascii import b2a_base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["AttachedFile", "Attachment", "described", "encoded", "sum_of"]

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


class Attachment(Protocol):
    """A file as a template names it. `sha256` in hex; None: not known yet."""

    @property
    def name(self) -> str:
        """File name that people see."""

    @property
    def media_type(self) -> str:
        """Such as application/pdf."""

    @property
    def content_id(self) -> str | None:
        """By what name html shows it."""

    @property
    def sha256(self) -> str | None:
        """Of the file, in hex."""


def described(attachments: Iterable[Attachment]) -> tuple[AttachedFile, ...]:
    """Return the files without their bytes, for a message that is only shown."""
    return tuple(AttachedFile(one.name, one.media_type, one.content_id, one.sha256 or "") for one in attachments)


def encoded(data: bytes) -> bytes:
    """Return base64 in lines of 76 characters that end with CRLF."""
    lines = [b2a_base64(data[at : at + _BYTES_PER_LINE], newline=False) for at in range(0, len(data), _BYTES_PER_LINE)]
    return b"".join([line + b"\r\n" for line in lines])


def sum_of(data: bytes) -> str:
    """Return the SHA-256 of a file, in hex."""
    return hashlib.sha256(data).hexdigest()
