"""Gzip data in, plain bytes out, piece by piece (RFC 1952, several members allowed)."""

import zlib
from collections.abc import Iterator

from .errors import SourceUnreadableError
from .looks import GZIP_MAGIC, foreign_format, looks_like_markup

PIECE = 256 * 1024
_GZIP_WBITS = 31


class Gunzip:
    """Expands a stream in pieces of at most `PIECE` bytes, so that a bomb costs time but no memory."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._member = zlib.decompressobj(_GZIP_WBITS)
        self._started = False
        self._ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take compressed bytes. Raises `SourceUnreadableError`."""
        while data:
            if self._ended:
                # tar and tape drives pad with zeros; gzip ignores them, too
                data = data.lstrip(b"\x00")
                if not data:
                    return
                self._member, self._ended = zlib.decompressobj(_GZIP_WBITS), False
            yield from self._expand(data)
            data = self._member.unused_data
            self._ended = self._member.eof

    def finish(self) -> None:
        """The source has ended. Raises `SourceUnreadableError` if the gzip data has not."""
        if not self._started:
            raise SourceUnreadableError(self._field, "is empty, where gzip data was expected")
        if not self._ended:
            problem = "the gzip data ends too early: the file is not complete; upload it anew"
            raise SourceUnreadableError(self._field, problem)

    def _expand(self, data: bytes) -> Iterator[bytes]:
        first, self._started = not self._started, True
        # what zlib may still hold when a full piece ends the input comes with the trailer, which is input, too
        while data:
            try:
                piece = self._member.decompress(data, PIECE)
            except zlib.error as error:
                raise SourceUnreadableError(self._field, _explain(data, error, first=first)) from None
            if piece:
                yield piece
            data = self._member.unconsumed_tail


def _explain(data: bytes, error: zlib.error, *, first: bool) -> str:
    if not first or data.startswith(GZIP_MAGIC):
        return f"the gzip data is damaged: {error}"
    if looks_like_markup(data):
        return foreign_format(data) or ""
    return "is not gzip data; set compression: None if it is plain"
