"""Recipients from a query on a real MariaDB: streamed, read-only, and every refusal with its field."""

from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.sources.mariadb_server import MariaDB, running

from sendonce_store.spec.recipients import Recipients
from sendonce_worker.importing import Files, MissingColumnError, SourceUnreadableError, normalise_rows, read_rows

FIELD = "spec.recipients.mysql"
MANY = "SELECT concat('p', seq, '@example.com') AS email, seq AS number FROM seq_1_to_60000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDB]:
    with running(tmp_path_factory.mktemp("m")) as server:
        server.execute(
            "CREATE TABLE shop.readers (id int, email varchar(80), name text, paid decimal(10,2), born date, "
            "seen datetime(3), at time, face blob, score double, ok boolean)",
            "INSERT INTO shop.readers VALUES (1, 'zoe@example.com', 'Zoë 🎈', 12.50, '1990-02-03', "
            "'2026-01-02 03:04:05.678', '08:30:00', NULL, 0.5, true)",
        )
        yield server


async def read(dsn: str, query: str, root: Path) -> list[dict[str, object]]:
    folder = root / "secrets" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dsn").write_text(dsn)
    recipients = Recipients.from_wire({"mysql": {"dsnSecretKeyRef": {"name": "shop", "key": "dsn"}, "query": query}})
    async with aclosing(read_rows(recipients, ["Email"], Files(root))) as blocks:
        return [row async for block in blocks for row in block]


async def test_values_become_those_of_json(server: MariaDB, tmp_path: Path) -> None:
    rows = await read(server.dsn, "SELECT * FROM readers WHERE name LIKE 'Z%'", tmp_path)
    assert rows == [
        {
            "id": 1,
            "email": "zoe@example.com",
            "name": "Zoë 🎈",
            "paid": 12.5,
            "born": "1990-02-03",
            "seen": "2026-01-02T03:04:05.678000",
            "at": "08:30:00",
            "face": None,
            "score": 0.5,
            "ok": 1,
        }
    ]
    assert normalise_rows(rows, 1, ["Email"]).recipients[0].variables["name"] == "Zoë 🎈"


async def test_a_long_list_comes_in_blocks_and_each_row_once(server: MariaDB, tmp_path: Path) -> None:
    numbers = [row["number"] for row in await read(server.dsn, MANY, tmp_path)]
    assert numbers == list(range(1, 60_001))


async def test_what_is_left_early_is_not_read_to_its_end(server: MariaDB, tmp_path: Path) -> None:
    endless = "SELECT 'a@example.com' AS email FROM seq_1_to_1000000000"
    await read(server.dsn, "SELECT 'a@example.com' AS email", tmp_path)
    recipients = Recipients.from_wire({"mysql": {"dsnSecretKeyRef": {"name": "shop", "key": "dsn"}, "query": endless}})
    async with aclosing(read_rows(recipients, ["Email"], Files(tmp_path))) as blocks:
        assert len(await anext(blocks)) == 5000


async def test_no_row_is_an_empty_list(server: MariaDB, tmp_path: Path) -> None:
    assert await read(server.dsn, "SELECT email FROM readers WHERE id = 0", tmp_path) == []


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT email FROM nobody", r"the database refuses the query: .*nobody.* \(error 1146\)"),
        ("SELECT mail FROM readers", r"\(error 1054\)"),
        ("DELETE FROM readers", r"\(error 1792\); it must be one SELECT"),
        ("DROP TABLE readers", r"\(error 1792\); it must be one SELECT"),
        ("SELECT email FROM readers; DELETE FROM readers", r"\(error 1064\); it must be one SELECT"),
        ("SET @a = 1", "gives no rows; it must be one SELECT"),
        ("SELECT email, cast('x' AS binary) AS face FROM readers", "column face holds bytes; convert it to text"),
        ("SELECT email, email FROM readers", "column email is there twice"),
    ],
)
async def test_a_query_that_cannot_be_used_is_refused_and_writes_nothing(
    server: MariaDB, tmp_path: Path, query: str, problem: str
) -> None:
    with pytest.raises(SourceUnreadableError, match=problem) as caught:
        await read(server.dsn, query, tmp_path)
    assert caught.value.field == f"{FIELD}.query"
    assert not caught.value.temporary
    assert server.execute("SELECT count(*) FROM shop.readers") == [(1,)]


async def test_a_query_without_an_address_is_refused(server: MariaDB, tmp_path: Path) -> None:
    with pytest.raises(MissingColumnError, match="has no column email"):
        await read(server.dsn, "SELECT name FROM readers", tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "problem", "temporary"),
    [
        ("hunter2", "geheimnis", "refuses the user or the password", False),
        ("ann:", "geheimnis:", "refuses the user or the password", False),
        ("/shop", "/geheimnis", "the user may not use the database", False),
        ("/shop", "", "is not a connection string such as", False),
        ("mysql:", "postgresql:", "is not a connection string such as", False),
        ("/shop", "/shop?charset=geheimnis", "is not a connection string such as", False),
    ],
)
async def test_a_connection_that_fails_shows_nothing_of_its_string(
    server: MariaDB, tmp_path: Path, old: str, new: str, problem: str, temporary: bool
) -> None:
    with pytest.raises(SourceUnreadableError, match=problem) as caught:
        await read(server.dsn.replace(old, new), "SELECT 1 AS email", tmp_path)
    assert caught.value.field == f"{FIELD}.dsnSecretKeyRef"
    assert caught.value.temporary is temporary
    assert not any(secret in str(caught.value) for secret in ("hunter2%", "geheimnis", "ann:"))


async def test_nobody_listening_may_pass(tmp_path: Path, unused_tcp_port: int) -> None:
    with pytest.raises(SourceUnreadableError, match="nothing listens at the host and port") as caught:
        await read(f"mysql://ann:x@127.0.0.1:{unused_tcp_port}/shop", "SELECT 1 AS email", tmp_path)
    assert caught.value.temporary


async def test_a_connection_that_is_lost_half_way_may_pass(server: MariaDB, tmp_path: Path) -> None:
    await read(server.dsn, "SELECT 'a@example.com' AS email", tmp_path)
    query = "SELECT 'a@example.com' AS email FROM seq_1_to_1000000000"
    recipients = Recipients.from_wire({"mysql": {"dsnSecretKeyRef": {"name": "shop", "key": "dsn"}, "query": query}})
    async with aclosing(read_rows(recipients, ["Email"], Files(tmp_path))) as blocks:
        await anext(blocks)
        [(number,)] = server.execute("SELECT id FROM information_schema.processlist WHERE user = 'ann' AND info <> ''")
        server.execute(f"KILL {number}")
        with pytest.raises(SourceUnreadableError, match=f"{FIELD}.query") as caught:
            _ = [block async for block in blocks]
    assert caught.value.temporary
