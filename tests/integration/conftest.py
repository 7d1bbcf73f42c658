"""Real PostgreSQL for the integration tests.

In: `SENDONCE_TEST_DSN` (a role that may create databases and roles on a server of yours) or nothing, and then an
embedded server starts, of the programs in `SENDONCE_TEST_PG_BIN` if that is set. Out, for a test that asks for it:

    dsn              a fresh, migrated database
    empty_dsn        a fresh database without a schema
    server           an embedded server that nobody else uses, to restart and to kill, also reachable by TCP
    server_database  the name of a fresh, migrated database in `server`

A fresh database is a clone of one that is migrated once per process. Processes of pytest-xdist share one server, whose
files are in memory where there is plenty of it.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_store.migrate import migrate

# A clone waits for the disk twice with fsync, and nothing in here has to outlive a power cut. Whatever a crash of
# PostgreSQL alone must keep is tested with `server`, which has PostgreSQL's own settings.
_QUICK = {"fsync": "off", "max_connections": "200"}

# The first version whose CREATE DATABASE can copy files instead of logging every page.
_FIRST_WITH_STRATEGY = 150000

# Files of a clone are copied and deleted in half the time there.
_MEMORY, _PLENTY = Path("/dev/shm"), 4 * 2**30  # noqa: S108 - a folder with a random name is made in it


def _place() -> Path:
    """Return where the shared server's files go."""
    in_memory = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _PLENTY
    return _MEMORY if in_memory else Path(tempfile.gettempdir())


def _binaries() -> Path | None:
    folder = os.environ.get("SENDONCE_TEST_PG_BIN")
    return Path(folder) if folder else None


def _fresh_name() -> str:
    return f"sendonce_test_{uuid.uuid4().hex[:16]}"


async def _create(admin: str, name: str, template: str | None = None) -> str:
    """Create a database, perhaps as a clone, and return its DSN."""
    statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
    async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as connection:
        if template is not None:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
            if connection.info.server_version >= _FIRST_WITH_STRATEGY:
                statement += sql.SQL(" STRATEGY FILE_COPY")
        await connection.execute(statement)
    return make_conninfo(admin, dbname=name)


async def create_database(admin: str, template: str | None = None) -> str:
    """Make a fresh database that lives longer than a test, perhaps of the migrated template, and return its DSN."""
    return await _create(admin, _fresh_name(), template)


async def drop_database(admin: str, dsn: str) -> None:
    """Drop such a database."""
    await _drop(admin, str(conninfo_to_dict(dsn)["dbname"]))


async def _drop(admin: str, name: str) -> None:
    """Drop a database, and the logins of its tenants, which are the server's."""
    statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as connection:
        await connection.execute(statement)
        cursor = await connection.execute(
            "SELECT rolname FROM pg_roles WHERE shobj_description(oid, 'pg_authid') LIKE %s",
            [f"Sendonce, database {name}: %"],
        )
        for (role,) in await cursor.fetchall():
            await connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.fixture(scope="session")
def postgres_binaries() -> Path | None:
    """Return the folder of the server programs to test with; None: those that come with the package."""
    return _binaries()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def admin_dsn() -> AsyncIterator[str]:
    """Yield the DSN of a database in which databases can be created and dropped."""
    given = os.environ.get("SENDONCE_TEST_DSN")
    if given:
        yield given
        return
    # A run that was killed leaves a server behind, which nobody uses any more; one in use is left alone.
    for place in {_place(), Path(tempfile.gettempdir())}:
        for stale in place.glob("sendonce-test-*"):
            await EmbeddedPostgres(stale, binaries=_binaries()).stop(remove=True)
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
    embedded = EmbeddedPostgres(_place() / f"sendonce-test-{run}", binaries=_binaries(), settings=_QUICK)
    try:
        await embedded.start()
        yield embedded.dsn()
    finally:
        await embedded.stop(remove=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def template(admin_dsn: str) -> AsyncIterator[str]:
    """Yield the name of a migrated database that nobody is connected to."""
    name = _fresh_name()
    await migrate(await _create(admin_dsn, name))
    yield name
    await _drop(admin_dsn, name)


@pytest_asyncio.fixture
async def dsn(admin_dsn: str, template: str) -> AsyncIterator[str]:
    """Yield the DSN of a fresh, migrated database."""
    name = _fresh_name()
    yield await _create(admin_dsn, name, template)
    await _drop(admin_dsn, name)


@pytest_asyncio.fixture
async def empty_dsn(admin_dsn: str) -> AsyncIterator[str]:
    """Yield the DSN of a fresh database without a schema."""
    name = _fresh_name()
    yield await _create(admin_dsn, name)
    await _drop(admin_dsn, name)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _restartable() -> AsyncIterator[EmbeddedPostgres]:
    root = Path(tempfile.gettempdir()) / f"sendonce-test-{uuid.uuid4().hex}"
    embedded = EmbeddedPostgres(root, tcp=True, binaries=_binaries())
    try:
        await embedded.start()
        yield embedded
    finally:
        await embedded.stop(remove=True)


@pytest_asyncio.fixture
async def server(_restartable: EmbeddedPostgres) -> EmbeddedPostgres:
    """Return a running server of this process alone, with PostgreSQL's own settings, on a unix socket and on TCP."""
    # The test before may have left it stopped.
    await _restartable.start()
    return _restartable


@pytest_asyncio.fixture
async def server_database(server: EmbeddedPostgres) -> AsyncIterator[str]:
    """Yield the name of a fresh, migrated database in `server`."""
    name = _fresh_name()
    await migrate(await _create(server.dsn(), name))
    yield name
    await server.start()
    await _drop(server.dsn(), name)
