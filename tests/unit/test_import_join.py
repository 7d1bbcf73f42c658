"""Blocks of a source become chunks: large enough to be worth a commit, and never larger than memory allows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest

from sendonce_store.import_rows import Chunk, Plan, Target
from sendonce_store.recipients import Address, Recipient, Rejected
from sendonce_worker.importing.run import CHUNK_BYTES, CHUNK_RECORDS, SourceBlock, join

PLAN = Plan(7, "ns", (Target("Email", 1, None, b""),))


def person(line: int, note: str = "") -> Recipient:
    address = f"p{line}@example.com"
    return Recipient(line, None, {"Email": Address(address, address)}, None, None, {"note": note})


async def joined(blocks: Sequence[SourceBlock]) -> list[Chunk]:
    async def source() -> AsyncGenerator[SourceBlock, None]:
        for block in blocks:
            yield block

    return [chunk async for chunk in join(PLAN, source())]


def block(first: int, size: int, note: str = "") -> SourceBlock:
    return SourceBlock([person(line, note) for line in range(first, first + size)], (), {"line": first + size - 1})


async def test_a_chunk_ends_with_the_block_that_fills_it_and_has_that_blocks_cursor() -> None:
    chunks = await joined([block(first, 1000) for first in range(1, 12_001, 1000)])
    assert [chunk.lines for chunk in chunks] == [CHUNK_RECORDS, CHUNK_RECORDS, 2000]
    assert [chunk.cursor["line"] for chunk in chunks] == [5000, 10_000, 12_000]
    assert [max(chunk.people) for chunk in chunks] == [5000, 10_000, 12_000]


async def test_large_rows_make_short_chunks() -> None:
    chunks = await joined([block(first, 10, "x" * 100_000) for first in range(1, 201, 10)])
    assert len(chunks) > 3
    assert all(chunk.size < CHUNK_BYTES + 1_100_000 for chunk in chunks)
    assert sum(chunk.lines for chunk in chunks) == 200


async def test_refused_rows_fill_a_chunk_too() -> None:
    refused = [Rejected(line, "row", "no", "") for line in range(1, CHUNK_RECORDS + 1)]
    chunks = await joined([SourceBlock((), refused, {"line": CHUNK_RECORDS}), block(CHUNK_RECORDS + 1, 1)])
    assert [chunk.lines for chunk in chunks] == [CHUNK_RECORDS, 1]


@pytest.mark.parametrize("blocks", [[], [SourceBlock((), (), {})]])
async def test_a_source_without_records_makes_no_chunk(blocks: list[SourceBlock]) -> None:
    assert await joined(blocks) == []
