"""A claimed import batch, from its cursor to the end of the source: blocks are read ahead while one is committed.

A query on another database goes through the store's spool first: its rows can't be read again in the same order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from sendonce_store import imports
from sendonce_store.campaigns import StoredCampaign
from sendonce_store.connection import Connection
from sendonce_store.import_rows import Chunk, Plan
from sendonce_store.queue import renew
from sendonce_store.recipients import Position, Recipient, Rejected
from sendonce_store.rows import Batch, Holder

from .blocks import normalise_rows, open_import
from .database import asks_a_database, read_rows
from .errors import ImportSourceError, NotMountedError, SecretNotFoundError
from .mounted import Files
from .records import BLOCK_ROWS

logger = logging.getLogger(__name__)
RETRY_SECONDS = 15.0
# after so many tries a source that can't be read for the moment is one that can't be read
MOST_TRIES = 20
# a kubelet looks at what it has mounted once a minute or so; for three minutes a file that is missing may be on its way
MOUNT_SECONDS = 10.0
MOUNT_TRIES = 18
# a chunk is committed when it holds so many records, or so many bytes of recipients
CHUNK_RECORDS = 5000
CHUNK_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImportJob:
    """What an import needs: its batch, its campaign, and the folder with ConfigMaps and Secrets. Times in seconds."""

    batch: Batch
    holder: Holder
    campaign: StoredCampaign
    files: Files
    lease: float
    heartbeat: float

    @property
    def channels(self) -> list[str]:
        """The channels that the campaign uses."""
        return [message.channel.value for message in self.campaign.spec.messages]


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """Records of a source, and the cursor behind them."""

    recipients: Sequence[Recipient]
    rejected: Sequence[Rejected]
    cursor: Mapping[str, Any]


async def run_import(conn: Connection, renewals: Connection, job: ImportJob, stop: asyncio.Event) -> None:
    """Import what is left of the source, until `stop`; then the batch is given back at its cursor.

    `renewals` is a second connection, for the lease: the first one may be busy with a block. Raises LeaseLostError;
    psycopg.Error leaves the rest to the next holder.
    """
    await renew(renewals, job.batch, job.lease)
    tasks = [asyncio.create_task(_import(conn, renewals, job)), asyncio.create_task(_renew(renewals, job))]
    stopped = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait({*tasks, stopped}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in (*tasks, stopped):
            task.cancel()
        await asyncio.gather(*tasks, stopped, return_exceptions=True)
    if stopped in done:
        await imports.give_back(renewals, job.batch)


async def _renew(conn: Connection, job: ImportJob) -> None:
    while True:
        await asyncio.sleep(job.heartbeat)
        await renew(conn, job.batch, job.lease)


async def _import(conn: Connection, reading: Connection, job: ImportJob) -> None:
    plan = await imports.prepare(conn, job.campaign.id)
    try:
        async with aclosing(_blocks(conn, reading, job)) as blocks:
            await _commit_all(conn, job, join(plan, blocks))
    except ImportSourceError as error:
        logger.warning("import: %s", error)
        await _put_off(conn, job, error)
    else:
        await imports.finish(conn, job.batch, job.holder)


async def _put_off(conn: Connection, job: ImportJob, error: ImportSourceError) -> None:
    """Give the import back for a while, or end it where waiting would not help."""
    words = f"SecretNotFound: {error}" if isinstance(error, SecretNotFoundError) else str(error)
    delay = wait_after(error, job.batch.claims)
    if delay is None:
        await imports.finish(conn, job.batch, job.holder, failure=words)
    else:
        await imports.postpone(conn, job.batch, job.holder, delay, words)


def wait_after(error: ImportSourceError, tries: int) -> float | None:
    """Seconds after which the source is tried again, after so many tries; None: it can't be read."""
    if isinstance(error, NotMountedError):
        return MOUNT_SECONDS if tries < MOUNT_TRIES else None
    return RETRY_SECONDS if error.temporary and tries < MOST_TRIES else None


async def _commit_all(conn: Connection, job: ImportJob, chunks: AsyncIterator[Chunk]) -> None:
    """Commit each chunk while the next one is being read."""
    committing: asyncio.Task[None] | None = None
    try:
        async for chunk in chunks:
            if committing is not None:
                await committing
            commit = imports.commit_chunk(conn, job.batch, job.holder, chunk, job.lease)
            committing = asyncio.create_task(commit)
    finally:
        if committing is not None:
            await committing


async def join(plan: Plan, blocks: AsyncIterator[SourceBlock]) -> AsyncGenerator[Chunk, None]:
    """The chunks that blocks add up to. Between two blocks the loop goes round: the server must not wait for us."""
    chunk = Chunk(plan)
    async for block in blocks:
        chunk.add(block.recipients, block.rejected, block.cursor)
        if chunk.lines >= CHUNK_RECORDS or chunk.size >= CHUNK_BYTES:
            yield chunk
            chunk = Chunk(plan)
        await asyncio.sleep(0)
    if chunk.lines:
        yield chunk


def _blocks(conn: Connection, reading: Connection, job: ImportJob) -> AsyncGenerator[SourceBlock, None]:
    if asks_a_database(job.campaign.spec.recipients):
        return _query_blocks(conn, reading, job)
    return _file_blocks(job)


async def _file_blocks(job: ImportJob) -> AsyncGenerator[SourceBlock, None]:
    cursor = job.batch.cursor
    position = Position(**cursor) if cursor else None
    blocks = open_import(job.campaign.spec.recipients, job.channels, job.files, position)
    async with aclosing(blocks):
        async for block in blocks:
            yield SourceBlock(block.recipients, block.rejected, block.position._asdict())


async def _query_blocks(conn: Connection, reading: Connection, job: ImportJob) -> AsyncGenerator[SourceBlock, None]:
    cursor: Mapping[str, Any] = job.batch.cursor or {}
    if not cursor.get("spooled"):
        await _spool(conn, job)
    after = int(cursor.get("line", 0))
    while rows := await imports.read_spool(reading, job.campaign.id, after, BLOCK_ROWS):
        outcome = normalise_rows((row["record"] for row in rows), after + 1, job.channels)
        after = rows[-1]["line"]
        yield SourceBlock(outcome.recipients, outcome.rejected, {"spooled": True, "line": after})


async def _spool(conn: Connection, job: ImportJob) -> None:
    line = 1
    async with aclosing(read_rows(job.campaign.spec.recipients, job.channels, job.files)) as blocks:
        async for rows in blocks:
            await imports.spool(conn, job.batch, job.holder, rows, line)
            line += len(rows)
    await imports.save_cursor(conn, job.batch, {"spooled": True, "line": 0}, job.lease)
