"""PostgreSQL reads our array literals as the values that they were made of."""

from collections.abc import AsyncIterator

import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sendonce_store.array_literals import numbers, octets, texts
from sendonce_store.connection import Connection, connect

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)


@pytest_asyncio.fixture
async def conn(dsn: str) -> AsyncIterator[Connection]:
    """Yield a connection."""
    connection = await connect(dsn)
    yield connection
    await connection.close()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    words=st.lists(st.none() | _TEXT),
    blobs=st.lists(st.binary(max_size=20)),
    numerals=st.lists(st.none() | st.integers(-(2**31), 2**31 - 1)),
)
async def test_values_come_back(
    conn: Connection, words: list[str | None], blobs: list[bytes], numerals: list[int | None]
) -> None:
    cursor = await conn.execute(
        "SELECT %s::text[] AS words, %s::bytea[] AS blobs, %s::int[] AS numerals",
        [texts(words), octets(blobs), numbers(numerals)],
    )
    row = await cursor.fetchone()
    assert row == {"words": words, "blobs": blobs, "numerals": numerals}
