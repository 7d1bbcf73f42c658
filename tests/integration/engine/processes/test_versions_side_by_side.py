"""A rolling upgrade: a worker of the version before and one of today on one store, and one campaign for both.

The order is that of an upgrade: the version before has made the store and sends; the schema is migrated under it; then
a worker of today comes, and both go on.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from psycopg.conninfo import make_conninfo
from tests import earlier

from sendonce_store.connection import Connection, connect
from sendonce_store.migrate import migrate, newest, schema_version

if TYPE_CHECKING:
    from tests.integration.engine.processes.conftest import Crew

PEOPLE = 1500
ENDED = 0
# seconds per message: one worker needs longer for all than both waits last, in which the other one comes
SLOW = 2


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the packages of the version before."""
    return earlier.unpack(tmp_path_factory.mktemp("earlier"))


def documents(port: int) -> str:
    http = {"url": f"http://127.0.0.1:{port}/send", "idempotencyKeyHeader": "Idempotency-Key", "keyWindowSeconds": 3600}
    template = {"from": "a@example.com", "subject": "Hello", "text": "Hello"}
    common = {"apiVersion": "sendonce.dev/v1alpha1"}
    provider = {"kind": "NotificationProvider", "metadata": {"name": "api"}, "spec": {"type": "HTTP", "http": http}}
    spec = {
        "category": "Transactional",
        "recipients": {"configMapKeyRef": {"name": "people", "key": "people.csv"}, "format": "CSV"},
        "messages": [{"channel": "Email", "providerRef": {"name": "api"}, "template": template}],
        "retry": {"maxAttempts": 20, "initialDelaySeconds": 1, "factor": 1, "maxDelaySeconds": 1},
    }
    campaign = {"kind": "NotificationCampaign", "metadata": {"name": "spring"}, "spec": spec}
    return "\n---\n".join(json.dumps(common | document) for document in (provider, campaign))


async def python(packages: Path, *arguments: str) -> str:
    """Run Python with the packages of the version before, and return what it prints."""
    env = {**os.environ, "PYTHONPATH": str(packages)}
    process = await asyncio.create_subprocess_exec(sys.executable, "-P", *arguments, env=env, stdout=PIPE, stderr=PIPE)
    out, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    return out.decode()


def people(files: Path) -> None:
    folder = files / "configmaps" / "people"
    folder.mkdir(parents=True)
    lines = "".join(f"{no},p{no}@example.com\n" for no in range(PEOPLE))
    (folder / "people.csv").write_text(f"id,email\n{lines}", "utf-8")


@pytest_asyncio.fixture
async def worker_dsn(empty_dsn: str) -> str:
    """Return the empty database: its login comes with the campaign."""
    return empty_dsn


@pytest_asyncio.fixture
async def conn(empty_dsn: str) -> AsyncIterator[Connection]:
    conn = await connect(empty_dsn)
    yield conn
    await conn.close()


async def eventually(question: Callable[[], Awaitable[bool]]) -> None:
    """Ask until the answer is yes."""
    async with asyncio.timeout(180):
        while True:
            if await question():
                return
            await asyncio.sleep(0.02)


async def at_work(conn: Connection) -> set[str]:
    """Workers that hold a batch of deliveries, some of which are sent."""
    cursor = await conn.execute(
        "SELECT worker FROM sendonce.batches WHERE kind = 'send' AND state = 'leased' AND sent > 0"
    )
    return {row["worker"] for row in await cursor.fetchall()}


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_workers_of_two_versions_share_a_campaign_and_everybody_is_sent_to_once(
    packages: Path, empty_dsn: str, conn: Connection, crew: Crew, simulate: Any
) -> None:
    people(crew.files)
    async with simulate(latency=SLOW) as far_end:
        made = await asyncio.to_thread(earlier.store, packages, empty_dsn, "default", documents(far_end.http_port))
        crew.dsn = make_conninfo(empty_dsn, user=made["role"], password=made["password"])
        before = await crew.start(
            PYTHONPATH=str(packages), SENDONCE_WORKER_ID="before", SENDONCE_CONCURRENCY="8", SENDONCE_EXIT_WHEN_DONE="1"
        )

        async def before_sends() -> bool:
            return await at_work(conn) == {"before"}

        async def both_send() -> bool:
            return await at_work(conn) == {"before", "today"}

        await eventually(before_sends)
        await migrate(empty_dsn)
        today = await crew.start(SENDONCE_WORKER_ID="today", SENDONCE_CONCURRENCY="8", SENDONCE_EXIT_WHEN_DONE="1")
        await eventually(both_send)
        assert len(far_end.ledger().rows) < PEOPLE
        await far_end.control({"latency": 0})
        assert [await before.exit_code(), await today.exit_code()] == [ENDED, ENDED]
        accepted = Counter({to: times for (to, _, _), times in far_end.ledger().accepted().items()})
    assert accepted == Counter({f"p{no}@example.com": 1 for no in range(PEOPLE)})
    cursor = await conn.execute("SELECT state, count(*) AS number FROM sendonce.deliveries GROUP BY state")
    assert {row["state"]: row["number"] for row in await cursor.fetchall()} == {"sent": PEOPLE}


async def test_the_version_before_works_on_today_s_schema_or_says_that_it_is_to_be_upgraded(
    packages: Path, dsn: str
) -> None:
    check = "import asyncio, sys; from sendonce_store import connection, migrate; print(migrate.newest(), end='')"
    known = int(await python(packages, "-c", check))
    conn = await connect(dsn)
    assert await schema_version(conn) == newest()
    await conn.close()
    program = f"""
import asyncio
from sendonce_store import connection, migrate
async def look():
    conn = await connection.connect({dsn!r})
    try:
        await migrate.require_current(conn)
    except migrate.SchemaVersionError as error:
        print(error, end="")
    await conn.close()
asyncio.run(look())
"""
    wanted = (
        ""
        if known == newest()
        else f"the schema is version {newest()}, this program knows {known}: upgrade this program"
    )
    assert await python(packages, "-c", program) == wanted
