"""From bytes to SMTP replies (RFC 5321 §4.2).

In: what the socket gave. Out: whole replies, the lines of a multi-line one joined. Anything else is
:class:`GarbageReplyError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_LINE = 4096
"""Bytes of one line; RFC 5321 §4.5.3.1.5 asks for 512, some servers write more."""
MAX_LINES = 128
"""Lines of one reply."""
_WHOLE_REPLIES = re.compile(rb"(?:[0-9]{3} [^\r\n]*\r\n)+")
"""What nearly every read gives: replies of one line each, none cut."""


class GarbageReplyError(Exception):
    """The far end does not speak SMTP."""


@dataclass(slots=True)
class Reply:
    """One reply: ``code`` is its three digits, ``lines`` what follows them."""

    code: int
    lines: list[bytes]

    @property
    def text(self) -> str:
        """Return the words on one line; bytes that are not UTF-8 are replaced."""
        return b" ".join(self.lines).decode("utf-8", "replace").strip()

    @property
    def is_success(self) -> bool:
        """Say whether it is a 2yz."""
        return 200 <= self.code < 300  # noqa: PLR2004 - the class of RFC 5321 §4.2.1


class ReplyReader:
    """Keeps the unfinished rest between reads."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self.rest = b""
        self._lines: list[bytes] = []

    def feed(self, data: bytes) -> Iterable[Reply]:
        """Give the replies that are now complete. Raises ``GarbageReplyError``, once those before it are read."""
        if not self.rest and not self._lines and len(data) < MAX_LINE and _WHOLE_REPLIES.fullmatch(data):
            return [Reply(int(line[:3]), [line[4:]]) for line in data[:-2].split(b"\r\n")]
        return self._read(data)

    def _read(self, data: bytes) -> Iterator[Reply]:
        *lines, self.rest = (self.rest + data if self.rest else data).split(b"\n")
        for line in lines:
            reply = self._line(line.removesuffix(b"\r"))
            if reply is not None:
                yield reply
        if len(self.rest) > MAX_LINE:
            raise GarbageReplyError(f"a reply line above {MAX_LINE} bytes")

    def _line(self, line: bytes) -> Reply | None:
        digits, separator = line[:3], line[3:4]
        if len(line) > MAX_LINE or not (len(digits) == 3 and digits.isdigit()) or separator not in b" -":  # noqa: PLR2004
            raise GarbageReplyError(f"not an SMTP reply: {line[:80]!r}")
        self._lines.append(line[4:])
        if separator == b"-":
            if len(self._lines) > MAX_LINES:
                raise GarbageReplyError(f"a reply of more than {MAX_LINES} lines")
            return None
        reply = Reply(int(digits), self._lines)
        self._lines = []
        return reply
