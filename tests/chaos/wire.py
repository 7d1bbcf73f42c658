"""PostgreSQL's protocol (version 3), as much of it as the proxy needs: messages, and what ends a transaction.

In: bytes of one direction, cut anywhere. Out: the messages in them (PostgreSQL manual, "Message Formats"). A message's
body is kept up to two kilobytes; nothing here changes a byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_KEPT = 2048
_TYPE_AND_LENGTH = 5
_LENGTH = 4
_STARTUP = b""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: its type byte (empty for the first one of a client) and the beginning of its body."""

    type: bytes
    body: bytes

    @property
    def statement(self) -> bytes:
        """The SQL of a Query or Parse message, in upper case; empty for others."""
        if self.type == b"Q":
            return self.body.split(b"\0", 1)[0].strip().upper()
        if self.type == b"P":
            return self.body.split(b"\0", 2)[1].strip().upper() if self.body.count(b"\0") else b""
        return b""

    @property
    def commits(self) -> bool:
        """Whether this message asks for the end of a transaction block."""
        return self.statement.startswith(b"COMMIT")

    @property
    def name(self) -> bytes:
        """The name of the prepared statement that a Parse message makes or a Bind message uses; empty: the unnamed."""
        parts = self.body.split(b"\0", 2)
        if self.type == b"P":
            return parts[0]
        return parts[1] if self.type == b"B" and len(parts) > 1 else b""

    @property
    def ends_request(self) -> bool:
        """Whether the server answers it with ReadyForQuery: a simple Query, or Sync."""
        return self.type in {b"Q", b"S"}


class Frames:
    """Cuts the bytes of one direction into messages."""

    def __init__(self, *, startup: bool) -> None:
        """`startup`: the first message has no type byte, as a client's has."""
        self._startup = startup
        self._head = bytearray()
        self._body = bytearray()
        self._left = 0
        self._type = b""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take the next bytes; give the messages that end in them."""
        place = 0
        while place < len(data):
            if self._left == 0:
                place = self._take_head(data, place)
                if self._left > 0 or len(self._head):
                    continue
                yield self._end()
                continue
            taken = min(self._left, len(data) - place)
            room = max(0, _KEPT - len(self._body))
            self._body += data[place : place + min(taken, room)]
            place, self._left = place + taken, self._left - taken
            if self._left == 0:
                yield self._end()

    def _take_head(self, data: bytes, place: int) -> int:
        wanted = _LENGTH if self._startup else _TYPE_AND_LENGTH
        taken = min(wanted - len(self._head), len(data) - place)
        self._head += data[place : place + taken]
        if len(self._head) == wanted:
            self._type = _STARTUP if self._startup else bytes(self._head[:1])
            self._left = int.from_bytes(self._head[-_LENGTH:]) - _LENGTH
            self._head.clear()
        return place + taken

    def _end(self) -> Frame:
        frame = Frame(self._type, bytes(self._body))
        self._startup = False
        self._body.clear()
        return frame


def application_name(startup: bytes) -> str:
    """The client's application_name in its first message; '' if it gave none."""
    parts = startup[_LENGTH:].split(b"\0")
    names = dict(zip(parts[::2], parts[1::2], strict=False))
    return names.get(b"application_name", b"").decode("utf-8", "replace")
