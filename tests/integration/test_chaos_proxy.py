"""The proxy of the chaos runs, between a real client and a real PostgreSQL: each fault does what its name says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import psycopg
import pytest
import pytest_asyncio
from psycopg.conninfo import make_conninfo
from tests.chaos.lane import address_of
from tests.chaos.proxy import Proxy, Trap
from tests.chaos.wire import Frames, application_name

from sendonce_cli.embedded import EmbeddedPostgres

Client = psycopg.AsyncConnection[tuple[object, ...]]
_WORKER = "sendonce-worker 0 w0"


@pytest.fixture
def direct(server: EmbeddedPostgres, server_database: str) -> str:
    return server.dsn(server_database, tcp=True)


@pytest_asyncio.fixture
async def sprung() -> asyncio.Event:
    """Is set when a fault has happened."""
    return asyncio.Event()


@pytest_asyncio.fixture
async def proxy(direct: str, sprung: asyncio.Event) -> AsyncIterator[Proxy]:
    address = address_of(direct)
    proxy = Proxy(address.host, address.port, lambda _: sprung.set())
    await proxy.start()
    yield proxy
    await proxy.close()


@pytest_asyncio.fixture
async def watcher(direct: str) -> AsyncIterator[Client]:
    async with await psycopg.AsyncConnection.connect(direct, autocommit=True) as conn:
        await conn.execute("CREATE TABLE notes (text text)")
        yield conn


async def _through(proxy: Proxy, direct: str, name: str = _WORKER) -> Client:
    dsn = make_conninfo(direct, port=proxy.port, gssencmode="disable")
    return await psycopg.AsyncConnection.connect(dsn, autocommit=True, application_name=name)


async def _write(conn: Client, text: str, way: str = "pipelined") -> None:
    """Write as workers do: in a block, in a block and a pipeline, or in a pipeline that is one transaction."""
    async with AsyncExitStack() as around:
        if way != "block":
            await around.enter_async_context(conn.pipeline())
        if way != "implicit":
            await around.enter_async_context(conn.transaction())
        await conn.execute("SELECT 'in place of hold_lease'")
        await conn.execute("INSERT INTO notes VALUES (%s)", [text])


async def _notes(watcher: Client) -> list[object]:
    return [row[0] for row in await (await watcher.execute("SELECT text FROM notes ORDER BY text")).fetchall()]


async def _until_noted(watcher: Client, wanted: list[object]) -> None:
    async with asyncio.timeout(10):
        while await _notes(watcher) != wanted:  # noqa: ASYNC110 - another process writes, and says nothing
            await asyncio.sleep(0.02)


async def test_without_a_fault_everything_passes(proxy: Proxy, direct: str, watcher: Client) -> None:
    async with await _through(proxy, direct) as conn:
        await _write(conn, "a")
        await _write(conn, "b", "block")

    assert await _notes(watcher) == ["a", "b"]


@pytest.mark.parametrize("way", ["pipelined", "block"])
async def test_a_lost_commit_was_done_though_the_client_saw_an_error(
    proxy: Proxy, direct: str, watcher: Client, way: str
) -> None:
    conn = await _through(proxy, direct)
    proxy.arm(Trap("lose", ""))

    with pytest.raises(psycopg.OperationalError):
        await _write(conn, "kept", way)

    await _until_noted(watcher, ["kept"])
    assert conn.broken


async def test_a_lost_answer_of_a_single_statement_was_done(proxy: Proxy, direct: str, watcher: Client) -> None:
    conn = await _through(proxy, direct)
    proxy.arm(Trap("lose", "", of="any"))

    with pytest.raises(psycopg.OperationalError):
        await conn.execute("INSERT INTO notes VALUES ('kept')")

    await _until_noted(watcher, ["kept"])


async def test_held_statements_reach_the_server_when_they_are_let_go(
    proxy: Proxy, sprung: asyncio.Event, direct: str, watcher: Client
) -> None:
    async with await _through(proxy, direct) as conn:
        proxy.arm(Trap("late", "", how="held", seconds=60))
        writing = asyncio.create_task(_write(conn, "late"))
        await asyncio.wait_for(sprung.wait(), 10)

        assert await _notes(watcher) == []
        assert not writing.done()

        proxy.disarm()
        await writing

    assert await _notes(watcher) == ["late"]


@pytest.mark.parametrize("way", ["pipelined", "block", "implicit"])
@pytest.mark.parametrize("uses", [0, 8])
async def test_a_ghost_writes_after_its_client_has_given_up(
    proxy: Proxy, direct: str, watcher: Client, way: str, uses: int
) -> None:
    conn = await _through(proxy, direct)
    # psycopg prepares what it has executed a few times: the guard must be known by its name then
    for text in map(str, range(uses)):
        await _write(conn, text, way)
    before = await _notes(watcher)
    proxy.arm(Trap("late", "", how="ghost", seconds=60))

    with pytest.raises(psycopg.OperationalError):
        await _write(conn, "ghost", way)
    assert await _notes(watcher) == before

    proxy.disarm()
    await _until_noted(watcher, [*before, "ghost"])


async def test_a_fault_for_one_worker_leaves_the_others_alone(proxy: Proxy, direct: str, watcher: Client) -> None:
    async with await _through(proxy, direct, "sendonce-worker 0 w1") as conn:
        proxy.arm(Trap("lose", "w0"))
        await _write(conn, "passed")

        assert proxy.cut("w0") == 0
        assert proxy.cut("w1") == 1
        with pytest.raises(psycopg.OperationalError):
            await _write(conn, "cut")

    assert await _notes(watcher) == ["passed"]


def test_messages_are_found_wherever_the_bytes_are_cut() -> None:
    startup = b"\0\3\0\0application_name\0sendonce-worker 0 w0\0\0"
    stream = (len(startup) + 4).to_bytes(4) + startup
    for kind, body in ((b"P", b"\0BEGIN\0\0\0"), (b"S", b""), (b"Q", b"commit\0")):
        stream += kind + (len(body) + 4).to_bytes(4) + body
    whole = list(Frames(startup=True).feed(stream))
    frames = Frames(startup=True)
    cut = [frame for place in range(len(stream)) for frame in frames.feed(stream[place : place + 1])]

    assert cut == whole
    assert [frame.type for frame in whole] == [b"", b"P", b"S", b"Q"]
    assert application_name(whole[0].body) == _WORKER
    assert [frame.statement for frame in whole] == [b"", b"BEGIN", b"", b"COMMIT"]
    assert [frame.commits for frame in whole] == [False, False, False, True]
    assert [frame.ends_request for frame in whole] == [False, False, True, True]


@pytest.mark.parametrize("earlier", [0, 8], ids=["new", "prepared"])
async def test_a_turn_that_is_a_transaction_by_itself_can_lose_its_answer(
    proxy: Proxy, direct: str, watcher: Client, earlier: int
) -> None:
    await watcher.execute(
        "CREATE FUNCTION take_turn(word text) RETURNS void LANGUAGE sql AS 'INSERT INTO notes VALUES (word)'"
    )
    conn = await _through(proxy, direct)
    for _ in range(earlier):
        await conn.execute("SELECT take_turn(%s)", ["told"])
    await conn.execute("SELECT 1")
    proxy.arm(Trap("lose", ""))
    await conn.execute("SELECT 2")  # no turn: nothing happens to it
    with pytest.raises(psycopg.OperationalError):
        await conn.execute("SELECT take_turn(%s)", ["lost"])
    assert (await _notes(watcher)).count("lost") == 1
