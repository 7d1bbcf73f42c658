"""Which version of a file an HTTP answer holds, and which part of it; pure.

The first answer's ETag, Last-Modified and size are pinned; each later answer is held against them. A part of a file is
taken only where it begins at the byte that was asked for (RFC 9110 §14.4, §15.3.7).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import ContentChangedError

_PART = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)").fullmatch


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a file: its entity tag, its time of change as the server writes it, its size in bytes."""

    etag: str | None = None
    modified: str | None = None
    size: int | None = None

    @property
    def strong(self) -> str | None:
        """The ETag for If-Match and If-Range, which a weak one never passes (RFC 9110 §8.8.3.2)."""
        return None if self.etag is None or self.etag.startswith("W/") else self.etag

    def pinned(self, other: "Version") -> "Version":
        """Return this version with what another answer for the same file adds. Raises `ContentChangedError`."""
        if self.etag and other.etag:
            # two servers behind one name may differ in their times and yet agree in the tag
            if self.etag.removeprefix("W/") != other.etag.removeprefix("W/"):
                raise ContentChangedError("its ETag is another one")
        elif self.modified and other.modified and self.modified != other.modified:
            raise ContentChangedError("its Last-Modified is another one")
        if self.size is not None and other.size is not None and self.size != other.size:
            raise ContentChangedError(f"it had {self.size:,} bytes then and has {other.size:,} now")
        return Version(
            self.etag or other.etag,
            self.modified or other.modified,
            other.size if self.size is None else self.size,
        )


def whole_version(headers: Mapping[str, str]) -> Version:
    """The version that an answer with the whole file (200) holds."""
    length = headers.get("content-length", "")
    return _version(headers, int(length) if length.isdecimal() else None)


def part_version(headers: Mapping[str, str], start: int) -> Version | None:
    """The version that an answer with a part (206) holds; None: it is not the part that begins at byte `start`."""
    found = _PART(headers.get("content-range", ""))
    if start == 0 or not found or int(found[1]) != start:
        return None
    return _version(headers, None if found[3] == "*" else int(found[3]))


def ends_by_itself(headers: Mapping[str, str]) -> bool:
    """Whether a cut connection can be told from the end of the answer (RFC 9112 §6.3)."""
    return "content-length" in headers or "chunked" in headers.get("transfer-encoding", "").lower()


def _version(headers: Mapping[str, str], size: int | None) -> Version:
    return Version(headers.get("etag"), headers.get("last-modified"), size)
