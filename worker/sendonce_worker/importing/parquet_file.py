"""A Parquet file is fetched whole before its first row is read: where everything in it stands is said at its end.

Bytes of the source go in, a file on disk without a name comes out, with its size and its SHA-256: it is gone when the
process is, however that ends.
"""

import asyncio
import errno
import hashlib
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO

from sendonce_store.spec.recipients import PARQUET_BYTES

from .errors import SourceUnreadableError
from .looks import GZIP_MAGIC, ZIP_MAGIC, foreign_format, looks_like_markup

_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"
_TAIL = 8
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole file: its descriptor, its size in bytes, its hex SHA-256, its first and its last bytes."""

    descriptor: int
    size: int
    digest: str
    head: bytes
    tail: bytes


@asynccontextmanager
async def fetched(pieces: AsyncIterable[bytes], field: str) -> AsyncGenerator[Fetched, None]:
    """The file that the pieces make up, until the block ends. Raises `SourceUnreadableError`."""
    try:
        file = await asyncio.to_thread(tempfile.TemporaryFile)
    except OSError:
        problem = "there is no folder to keep the file in while it is read; mount one at /tmp, or set TMPDIR"
        raise SourceUnreadableError(field, problem) from None
    with file:
        yield await _fill(file, pieces, field)


async def _fill(file: IO[bytes], pieces: AsyncIterable[bytes], field: str) -> Fetched:
    digest, size, head, tail = hashlib.sha256(), 0, b"", b""
    async for piece in pieces:
        size += len(piece)
        if size > PARQUET_BYTES:
            problem = (
                f"is larger than {PARQUET_BYTES // 1024**3} GiB, the most that a Parquet file may have; split it into "
                "several campaigns, or write it as NDJSON, which is never kept on disk"
            )
            raise SourceUnreadableError(field, problem)
        digest.update(piece)
        head, tail = (head + piece[:64])[:64], (tail + piece[-_TAIL:])[-_TAIL:]
        await _write(file, piece, field)
    await asyncio.to_thread(file.flush)
    return Fetched(file.fileno(), size, digest.hexdigest(), head, tail)


async def _write(file: IO[bytes], piece: bytes, field: str) -> None:
    try:
        await asyncio.to_thread(file.write, piece)
    except OSError as error:
        full = error.errno in _FULL
        problem = "the worker's disk is full" if full else f"cannot be kept on the worker's disk: {error.strerror}"
        raise SourceUnreadableError(field, problem, temporary=full) from None


def frame_problem(head: bytes, tail: bytes, size: int) -> str | None:
    """What is wrong with a file that begins and ends so, and the fix; None if it may be Parquet."""
    if not size:
        return "is empty, where a Parquet file was expected"
    if head.startswith(_ENCRYPTED) or tail.endswith(_ENCRYPTED):
        return "is an encrypted Parquet file; write it without encryption"
    if not head.startswith(_MAGIC):
        known = looks_like_markup(head) or head.startswith((GZIP_MAGIC, ZIP_MAGIC))
        return (known and foreign_format(head)) or "is not a Parquet file; if it is text, set format: CSV or NDJSON"
    if not tail.endswith(_MAGIC):
        return "does not end as a Parquet file does: it is not complete; write or upload it anew"
    if int.from_bytes(tail[:4], "little") + 2 * len(_MAGIC) + 4 > size:
        return "the footer of the Parquet file is damaged; write or upload it anew"
    return None
