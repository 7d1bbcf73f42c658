"""Bytes in, whole lines out; a line that is too long passes by without being held.

Chunks of any size go in. `Whole` carries lines with their ends, `Dropped` a stretch of a line longer than `LINE_LIMIT`,
so that the caller can count and hash bytes that nobody keeps. At most `LINE_LIMIT` bytes and one chunk are held.
"""

from collections.abc import Iterator
from dataclasses import dataclass

LINE_LIMIT = 256 * 1024


@dataclass(frozen=True, slots=True)
class Whole:
    """One or more whole lines, each with its line feed; the last line of the source may lack it."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Dropped:
    """A stretch of a line that is too long; `first` and `last` say whether the line begins and ends with it."""

    data: bytes
    first: bool
    last: bool


class LineCutter:
    """Cuts a stream of bytes at its line feeds."""

    def __init__(self) -> None:
        self._tail = b""
        self._dropping = False

    def feed(self, data: bytes) -> Iterator[Whole | Dropped]:
        """Take the next bytes of the source."""
        for start in range(0, len(data), LINE_LIMIT):
            yield from self._piece(data[start : start + LINE_LIMIT])

    def finish(self) -> Iterator[Whole | Dropped]:
        """The source has ended."""
        if self._dropping:
            yield Dropped(b"", first=False, last=True)
        elif self._tail:
            yield Whole(self._tail)
        self._tail, self._dropping = b"", False

    def _piece(self, piece: bytes) -> Iterator[Whole | Dropped]:
        end = piece.find(b"\n") + 1
        too_long = len(self._tail) + (end or len(piece)) > LINE_LIMIT
        if self._dropping or too_long:
            cut = end or len(piece)
            yield Dropped(self._tail + piece[:cut], first=not self._dropping, last=end > 0)
            self._tail, self._dropping = b"", not end
            piece = piece[cut:]
        end = piece.rfind(b"\n") + 1
        if end:
            yield Whole(self._tail + piece[:end])
            self._tail = piece[end:]
        else:
            self._tail += piece


def split_lines(data: bytes) -> list[bytes]:
    """The lines without their line feeds; the end of the last line makes no empty line of its own."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines
