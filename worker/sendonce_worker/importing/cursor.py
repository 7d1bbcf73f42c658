"""Where an import stands: lines and bytes consumed, and the running hash of those bytes."""

import hashlib

from sendonce_store.recipients import Position


class Cursor:
    """Advances over uncompressed bytes in the order of the source."""

    def __init__(self) -> None:
        self.line = 0
        self.offset = 0
        self._hash = hashlib.sha256()

    def advance(self, data: bytes | memoryview, lines: int) -> None:
        """These bytes are consumed, and so many lines ended in them."""
        self.line += lines
        self.offset += len(data)
        self._hash.update(data)

    def position(self, etag: str | None = None) -> Position:
        """The place to resume at."""
        return Position(self.line, self.offset, self._hash.hexdigest(), etag)
