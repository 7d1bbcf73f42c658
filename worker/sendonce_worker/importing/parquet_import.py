"""A Parquet file in, blocks of recipients out.

    bytes of the source → a file on disk → a process that reads it → rows → recipients and refused rows → `Block`

A row has its number in the file for a line. The position behind a block is that number, with the size and the SHA-256
of the whole file: an import that resumes fetches it again, compares, and lets the reader pass over what it had.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from contextlib import aclosing
from typing import Any

from sendonce_store.recipients import Position

from .errors import ContentChangedError, SourceUnreadableError
from .parquet_file import Fetched, fetched, frame_problem
from .parquet_process import ReaderError, read_frames
from .parquet_rows import Column, ParquetRows
from .stream import Block, Layout


class ParquetImport:
    """One pass over a file. `etag` is asked for the pinned entity tag."""

    def __init__(self, layout: Layout, position: Position | None, etag: Callable[[], str | None]) -> None:
        self._layout = layout
        self._etag = etag
        self._start = position
        self.line = position.line if position else 0

    async def blocks(self, pieces: AsyncIterable[bytes]) -> AsyncGenerator[Block, None]:
        """The blocks. Raises `ImportSourceError`, and `ContentChangedError` where it resumes in vain."""
        async with fetched(pieces, self._layout.field) as file:
            self._check(file)
            try:
                async with aclosing(read_frames(file.descriptor, self.line)) as frames:
                    rows = self._rows(await anext(frames))
                    async for frame in frames:
                        yield self._block(rows, frame, file)
            except ReaderError as error:
                raise self._unreadable(error) from None

    def _check(self, file: Fetched) -> None:
        if self._start is not None and self._start.digest != file.digest:
            raise ContentChangedError("the file reads otherwise now")
        if problem := frame_problem(file.head, file.tail, file.size):
            raise SourceUnreadableError(self._layout.field, problem)

    def _rows(self, frame: Mapping[str, Any]) -> ParquetRows:
        return ParquetRows([Column(*column) for column in frame["columns"]], self._layout)

    def _block(self, rows: ParquetRows, frame: Mapping[str, Any], file: Fetched) -> Block:
        outcome = rows.take(self.line + 1, frame["values"], frame["faults"])
        self.line += frame["rows"]
        position = Position(self.line, file.size, file.digest, self._etag())
        return Block(outcome.recipients, outcome.rejected, position, outcome.lines)

    def _unreadable(self, error: ReaderError) -> SourceUnreadableError:
        detail = f" ({error.detail})" if error.detail and not self._layout.secret else ""
        behind = f" behind row {self.line:,}" if self.line else ""
        problem = f"the Parquet file cannot be read{behind}: {error.problem}{detail}"
        return SourceUnreadableError(self._layout.field, problem, temporary=error.temporary)
