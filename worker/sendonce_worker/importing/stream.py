"""The bytes of a file in, blocks of recipients out; no I/O.

`StreamImport` is fed uncompressed bytes from the beginning of the source, also when the import resumes: it then hashes
what an earlier run consumed, compares, and reads on behind it. It gathers bytes first, so that a block is worth the
work however small the pieces are that a network delivers.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from sendonce_store.recipients import Position, Recipient, Rejected
from sendonce_store.spec.recipients import RecipientFormat

from .csv_records import CsvReader
from .cursor import Cursor
from .errors import ContentChangedError
from .lines import LINE_LIMIT, Dropped, LineCutter, Whole
from .ndjson_records import NdjsonReader
from .preamble import Preamble, read_csv_preamble, read_ndjson_preamble
from .records import Part, RecordReader
from .rows import Normaliser, Outcome

# more than the longest line, so that a header is always whole in the first piece
_GATHER = 2 * LINE_LIMIT


@dataclass(frozen=True, slots=True)
class Block:
    """Up to `BLOCK_ROWS` records and the position behind them. `lines` counts the records, good and refused."""

    recipients: list[Recipient]
    rejected: list[Rejected]
    position: Position
    lines: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What kind of list it is: its format, the channels it is for, and where in the spec it is named.

    `secret`: the list stands in a Secret, and nothing of it may be shown.
    """

    format: RecipientFormat
    channels: Collection[str]
    field: str
    secret: bool = False


class StreamImport:
    """One pass over a source. `etag` is asked for the pinned entity tag at each block."""

    def __init__(self, layout: Layout, position: Position | None, etag: Callable[[], str | None]) -> None:
        self._layout = layout
        self._etag = etag
        self._start = position
        self._normaliser = Normaliser(layout.channels, secret=layout.secret)
        self._cursor = Cursor()
        self._cutter = LineCutter()
        self._gathered = bytearray()
        self._head: bytes | None = None
        self._reader: RecordReader | None = None
        self._refused = Outcome()

    @property
    def line(self) -> int:
        """The last line that was consumed, by this run or the one it resumes."""
        return max(self._cursor.line, self._start.line if self._start else 0)

    async def blocks(self, pieces: AsyncIterable[bytes]) -> AsyncGenerator[Block, None]:
        """The blocks that the pieces add up to. Raises as `feed` does."""
        async for piece in pieces:
            for block in self.feed(piece):
                yield block
        for block in self.finish():
            yield block

    def feed(self, data: bytes) -> Iterator[Block]:
        """Take the next bytes. Raises `ImportSourceError`, and `ContentChangedError` where it resumes in vain."""
        self._gathered += data
        if len(self._gathered) >= _GATHER:
            yield from self._take_gathered()

    def finish(self) -> Iterator[Block]:
        """The source has ended. Raises as `feed` does."""
        yield from self._take_gathered()
        if self._reader is None:
            raise ContentChangedError("it is shorter now")
        for event in self._cutter.finish():
            yield from self._on_event(self._reader, event, final=True)
        yield from self._blocks(self._reader.read(b"", final=True))

    def _take_gathered(self) -> Iterator[Block]:
        data = bytes(self._gathered)
        self._gathered.clear()
        if self._head is None:
            self._head = data
        if self._reader is None:
            data = self._begin(data)
        if self._reader is not None:
            for event in self._cutter.feed(data):
                yield from self._on_event(self._reader, event)

    def _begin(self, data: bytes) -> bytes:
        """Consume what stands before the first record of this run; returns what is left."""
        head = self._head or b""
        if self._start is None:
            preamble = self._preamble(head)
            self._reader = self._make_reader(preamble, preamble.lines)
            self._cursor.advance(data[: preamble.size], preamble.lines)
            return data[preamble.size :]
        known = data[: self._start.offset - self._cursor.offset]
        self._cursor.advance(known, 0)
        if self._cursor.offset == self._start.offset:
            self._check_unchanged(self._start)
            self._reader = self._make_reader(self._preamble(head), self._start.line)
            self._head = b""
        return data[len(known) :]

    def _check_unchanged(self, start: Position) -> None:
        if self._cursor.position().digest != start.digest:
            raise ContentChangedError("the part that was read then reads otherwise now")
        self._cursor.line = start.line

    def _preamble(self, head: bytes) -> Preamble:
        layout = self._layout
        if layout.format is RecipientFormat.CSV:
            return read_csv_preamble(head, layout.channels, layout.field, secret=layout.secret)
        return read_ndjson_preamble(head, layout.field)

    def _make_reader(self, preamble: Preamble, line: int) -> RecordReader:
        if preamble.columns:
            return CsvReader(preamble.columns, self._normaliser, line)
        return NdjsonReader(self._normaliser, line)

    def _on_event(self, reader: RecordReader, event: Whole | Dropped, *, final: bool = False) -> Iterator[Block]:
        if isinstance(event, Whole):
            yield from self._blocks(reader.read(event.data, final=final))
            return
        if event.first:
            # a record that is held cannot go on through a line that nobody keeps
            yield from self._blocks(reader.read(b"", final=True))
            self._refused = reader.refuse_long_line(event.data)
        self._cursor.advance(event.data, int(event.last))
        if event.last:
            yield self._block(self._refused)

    def _blocks(self, parts: Iterable[Part]) -> Iterator[Block]:
        for part in parts:
            self._cursor.advance(part.data, part.lines)
            if part.outcome.lines:
                yield self._block(part.outcome)

    def _block(self, outcome: Outcome) -> Block:
        position = self._cursor.position(self._etag())
        return Block(outcome.recipients, outcome.rejected, position, outcome.lines)
