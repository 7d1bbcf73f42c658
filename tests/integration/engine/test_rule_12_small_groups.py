"""Rule 12: without keys no more is committed than is in flight; an unclear commit is read again and gone on from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sendonce_worker.providers.base import Accepted, Message

if TYPE_CHECKING:
    from tests.integration.engine.conftest import FarEnd, World

# a turn is a statement that commits by itself; the server is ready again when it has done so
TURN = b"sendonce.take_turn("
READY = b"Z\x00\x00\x00\x05I"


class Wire:
    """The network between a worker and the store, which breaks at a turn's commit."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._port = 0
        self._holding = False
        self.trouble: str | None = None

    @property
    def dsn(self) -> str:
        return make_conninfo(self._dsn, host="127.0.0.1", port=self._port, sslmode="disable", gssencmode="disable")

    async def open(self) -> asyncio.Server:
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        return server

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await self._far_side()
        ways = (self._up(reader, far_writer), self._down(far_reader, writer))
        tasks = [asyncio.create_task(way) for way in ways]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        writer.close()
        far_writer.close()

    async def _far_side(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        info = conninfo_to_dict(self._dsn)
        host, port = str(info["host"]), int(str(info.get("port", 5432)))
        if host.startswith("/"):
            return await asyncio.open_unix_connection(Path(host) / f".s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _up(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if self.trouble and TURN in data:
                self._holding = self.trouble == "the acknowledgement is lost"
                self.trouble = None
                if not self._holding:
                    return
            writer.write(data)

    async def _down(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held = b""
        while data := await reader.read(65536):
            if not self._holding:
                writer.write(data)
                continue
            held += data
            if READY in held:
                self._holding = False
                return


@pytest_asyncio.fixture
async def wire(dsn: str) -> AsyncIterator[Wire]:
    wire = Wire(dsn)
    server = await wire.open()
    yield wire
    server.close()


@pytest.mark.parametrize("keyed", [True, False])
async def test_without_keys_no_more_rows_are_in_sending_than_are_in_flight(
    world: World, far_end: FarEnd, keyed: bool
) -> None:
    campaign = await world.campaign(40)
    far_end.key_window = 86_400 if keyed else None
    most = 0

    async def look(message: Message) -> Accepted:
        nonlocal most
        conn = await world.connect()
        cursor = await conn.execute("SELECT count(*) AS n FROM sendonce.deliveries WHERE state = 'sending'")
        row = await cursor.fetchone()
        await conn.close()
        most = max(most, row["n"] if row else 0)
        return Accepted(None, "200")

    far_end.answer = look
    await (await campaign.session(await campaign.claim(), far_end, capacity=3)).run()
    assert await campaign.states() == {"sent": 40}
    assert (most > 3) if keyed else (most == 3)  # with keys a repeat is safe, and commits may be shared by more


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("trouble", ["the acknowledgement is lost", "the commit is lost"])
@pytest.mark.parametrize("turn", ["first", "later"])
async def test_after_an_unclear_commit_everybody_is_still_handed_off_once(
    world: World, far_end: FarEnd, wire: Wire, keyed: bool, trouble: str, turn: str
) -> None:
    campaign = await world.campaign(9)
    far_end.key_window = 86_400 if keyed else None
    if turn == "first":
        wire.trouble = trouble

    async def answer(message: Message) -> Accepted:
        if turn == "later" and len(far_end.received) == 3:
            wire.trouble = trouble
        return Accepted(None, "200")

    far_end.answer = answer
    session = await campaign.session(await campaign.claim(), far_end, capacity=3, ahead=0, dsn=wire.dsn)
    await session.run()
    assert wire.trouble is None  # it has struck
    assert set(far_end.people.values()) == {1}
    assert {(row["state"], row["attempt_seq"]) for row in await campaign.rows()} == {("sent", 1)}
    assert [batch["state"] for batch in await campaign.batches()] == ["done"]
