"""The embedded PostgreSQL: shared, restarted, killed, and refused where it cannot work."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
from psycopg.conninfo import conninfo_to_dict

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_cli.embedded_binaries import EmbeddedPostgresError

ANOTHER_USER = """
import asyncio, sys
from pathlib import Path
from sendonce_cli.embedded import EmbeddedPostgres

async def main():
    postgres = EmbeddedPostgres(Path(sys.argv[1]))
    await postgres.start()
    print("started", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder that the server's account can enter, which pytest's own are not as root."""
    with tempfile.TemporaryDirectory(prefix="sendonce-embedded-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


@pytest_asyncio.fixture
async def embedded(folder: Path) -> AsyncIterator[EmbeddedPostgres]:
    postgres = EmbeddedPostgres(folder / "postgres")
    await postgres.start()
    yield postgres
    await postgres.stop(remove=True)


async def _ask(dsn: str, query: str) -> object:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        cursor = await connection.execute(query.encode())
        row = await cursor.fetchone() if cursor.description else None
        return row[0] if row else None


async def _another_user(root: Path) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ANOTHER_USER, str(root), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"started\n"
    return process


@pytest.mark.parametrize("setting", ["fsync", "synchronous_commit", "full_page_writes"])
async def test_durability_is_postgresqls_default(server: EmbeddedPostgres, setting: str) -> None:
    query = f"SELECT setting = boot_val AND setting = 'on' FROM pg_settings WHERE name = '{setting}'"  # noqa: S608
    assert await _ask(server.dsn(), query) is True


async def test_an_immediate_restart_keeps_port_and_commits(server: EmbeddedPostgres, server_database: str) -> None:
    dsn, port, first_process = server.dsn(server_database, tcp=True), server.port, server.pid
    await _ask(dsn, "CREATE TABLE kept AS SELECT 7 AS value")

    await server.restart(immediate=True)

    assert (server.port, server.dsn(server_database, tcp=True)) == (port, dsn)
    assert server.pid != first_process
    assert await _ask(dsn, "SELECT value FROM kept") == 7
    assert "recovery" in server.log_file.read_text(encoding="utf-8")


async def test_a_killed_server_starts_again_with_its_commits(embedded: EmbeddedPostgres) -> None:
    await embedded.create_database("mine")
    await _ask(embedded.dsn("mine"), "CREATE TABLE kept AS SELECT 7 AS value")

    os.kill(embedded.pid, signal.SIGKILL)
    await embedded.start()

    assert await _ask(embedded.dsn("mine"), "SELECT value FROM kept") == 7


async def test_a_process_number_that_another_program_has_now_does_not_stop_the_start(
    embedded: EmbeddedPostgres, folder: Path
) -> None:
    pid_file = folder / "postgres/data/postmaster.pid"
    lines = pid_file.read_text(encoding="utf-8").splitlines(keepends=True)
    await embedded.stop()
    # The server asks whether the number lives, so it must be one that its account may signal: a child of that account.
    owner = pid_file.parent.stat().st_uid
    child = await asyncio.create_subprocess_exec("/bin/sleep", "600", user=owner if os.geteuid() == 0 else None)
    pid_file.write_text("".join([f"{child.pid}\n", *lines[1:]]), encoding="utf-8")
    os.chown(pid_file, owner, -1)
    try:
        await embedded.start()
        assert await _ask(embedded.dsn(), "SELECT 1") == 1
    finally:
        child.kill()
        await child.wait()


async def test_the_server_runs_until_its_last_user_leaves(embedded: EmbeddedPostgres, folder: Path) -> None:
    other = await _another_user(folder / "postgres")
    dsn = embedded.dsn()

    await embedded.stop()
    assert await _ask(dsn, "SELECT 1") == 1

    # Killed, so that it cannot say goodbye: its lock goes with it.
    other.kill()
    await other.wait()
    await embedded.stop()
    with pytest.raises(psycopg.OperationalError):
        await _ask(dsn, "SELECT 1")


async def test_a_server_left_behind_by_a_killed_program_is_taken_over(folder: Path) -> None:
    other = await _another_user(folder / "postgres")
    other.kill()
    await other.wait()
    heir = EmbeddedPostgres(folder / "postgres")
    left_behind = heir.pid

    await heir.start()

    assert heir.pid == left_behind
    await heir.stop(remove=True)
    assert not (folder / "postgres").exists()


async def test_two_that_start_at_once_share_one_server(folder: Path) -> None:
    first, second = (EmbeddedPostgres(folder / "postgres") for _ in range(2))

    await asyncio.gather(first.start(), second.start())

    assert first.pid == second.pid
    await first.stop()
    assert await _ask(second.dsn(), "SELECT 1") == 1
    await second.stop(remove=True)


async def test_a_path_too_long_for_a_socket_works(folder: Path) -> None:
    async with EmbeddedPostgres(folder / ("long" * 30)) as postgres:
        dsn = postgres.dsn()
        assert await _ask(dsn, "SELECT 1") == 1
    assert not Path(str(conninfo_to_dict(dsn)["host"])).exists()


async def test_tcp_is_off_unless_asked_for(embedded: EmbeddedPostgres) -> None:
    assert await _ask(embedded.dsn(), "SHOW listen_addresses") == ""
    with pytest.raises(EmbeddedPostgresError, match="unix socket only"):
        embedded.dsn(tcp=True)


async def test_tcp_listens_on_the_loopback_address_alone(server: EmbeddedPostgres) -> None:
    assert await _ask(server.dsn(tcp=True), "SHOW listen_addresses") == "127.0.0.1"


async def test_creating_a_database_twice_keeps_it(embedded: EmbeddedPostgres) -> None:
    await embedded.create_database("mine")
    await _ask(embedded.dsn("mine"), "CREATE TABLE kept AS SELECT 7 AS value")

    await embedded.create_database("mine")

    assert await _ask(embedded.dsn("mine"), "SELECT value FROM kept") == 7


async def test_a_folder_named_data_that_is_not_ours_is_refused_and_kept(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data/recipients.csv").write_text("email\n", encoding="utf-8")

    with pytest.raises(EmbeddedPostgresError, match="choose another folder"):
        await EmbeddedPostgres(folder).start()

    assert (folder / "data/recipients.csv").exists()


async def test_data_of_another_version_is_refused(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data/PG_VERSION").write_text("9\n", encoding="ascii")

    with pytest.raises(EmbeddedPostgresError, match="made by PostgreSQL 9"):
        await EmbeddedPostgres(folder).start()


async def test_a_folder_without_the_programs_is_refused(folder: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="no program named postgres"):
        await EmbeddedPostgres(folder / "postgres", binaries=folder).start()


async def test_a_server_that_does_not_start_says_why(folder: Path) -> None:
    postgres = EmbeddedPostgres(folder / "postgres", settings={"shared_buffers": "none"})

    with pytest.raises(EmbeddedPostgresError, match="shared_buffers"):
        await postgres.start()


async def test_a_server_that_is_not_running_has_no_dsn(folder: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="not running: start it first"):
        EmbeddedPostgres(folder / "postgres").dsn()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to another account")
async def test_as_root_a_folder_closed_to_the_servers_account_is_named(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(EmbeddedPostgresError, match=f"nobody, who cannot enter {closed}"):
        await EmbeddedPostgres(closed / "postgres").start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to another account")
async def test_as_root_the_server_runs_under_an_account_without_rights(embedded: EmbeddedPostgres) -> None:
    assert Path(f"/proc/{embedded.pid}").stat().st_uid != 0
