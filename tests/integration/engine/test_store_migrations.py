"""Migrations: applied once however many start, refused where they don't fit, and nothing of one that fails."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from tests import earlier
from tests.integration.engine.older import OLDER, make_older

from sendonce_store.connection import connect
from sendonce_store.migrate import SchemaVersionError, migrate, migrations, newest, require_current, schema_version

UNDER_WAY = """
INSERT INTO sendonce.providers (namespace, kind, name, spec) VALUES ('shop', 'NotificationProvider', 'api', '{}');
INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category)
  VALUES ('shop', 'spring', 'spring', '', '{}', 'Transactional');
INSERT INTO sendonce.channels (campaign_id, namespace, no, channel, provider_id, after_channel)
  SELECT c.id, 'shop', 1, 'SMS', p.id, 'Email' FROM sendonce.campaigns c, sendonce.providers p;
INSERT INTO sendonce.workers (id, namespace, campaign_id) SELECT 'w', 'shop', id FROM sendonce.campaigns;
"""


async def _run(dsn: str, statement: bytes) -> None:
    conn = await connect(dsn)
    await conn.execute(statement)
    await conn.close()


async def test_programs_that_start_together_apply_each_migration_once(empty_dsn: str) -> None:
    ran = await asyncio.gather(*(migrate(empty_dsn) for _ in range(4)))
    assert sorted(ran) == [0, 0, 0, newest()]
    assert await migrate(empty_dsn) == 0
    conn = await connect(empty_dsn)
    assert await schema_version(conn) == newest()
    await require_current(conn)
    await conn.close()


async def test_a_newer_schema_is_refused_by_program_and_migration(dsn: str) -> None:
    await _run(dsn, b"INSERT INTO sendonce.schema_migrations (version, name) VALUES (9999, 'later')")
    conn = await connect(dsn)
    with pytest.raises(SchemaVersionError, match="upgrade this program"):
        await require_current(conn)
    await conn.close()
    with pytest.raises(SchemaVersionError, match="upgrade this program"):
        await migrate(dsn)


async def test_an_older_schema_is_told_to_migrate(empty_dsn: str) -> None:
    conn = await connect(empty_dsn)
    with pytest.raises(SchemaVersionError, match="run `sendonce migrate`"):
        await require_current(conn)
    await conn.close()


async def test_nobody_may_be_sending_fallbacks_while_their_unique_key_changes(empty_dsn: str) -> None:
    conn = await connect(empty_dsn)
    await make_older(conn)
    await conn.execute(UNDER_WAY.encode())
    with pytest.raises(SchemaVersionError, match=r"campaign shop/spring, which has fallbacks\. Suspend it"):
        await migrate(empty_dsn)
    await conn.execute("UPDATE sendonce.workers SET stopped_at = now()")
    await conn.close()
    assert await migrate(empty_dsn) == newest() - OLDER


async def test_a_migration_that_fails_leaves_nothing(empty_dsn: str) -> None:
    await _run(empty_dsn, b"CREATE SCHEMA sendonce; CREATE TABLE sendonce.workers (mine text)")
    with pytest.raises(psycopg.errors.DuplicateTable):
        await migrate(empty_dsn)
    conn = await connect(empty_dsn)
    cursor = await conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'sendonce'")
    assert [row["tablename"] for row in await cursor.fetchall()] == ["workers"]
    assert await schema_version(conn) == 0
    await conn.execute("DROP SCHEMA sendonce CASCADE")
    await conn.close()
    assert await migrate(empty_dsn) == newest()


def _released(folder: Path) -> dict[str, str]:
    """The migrations of the version before, as it has them."""
    earlier.unpack(folder, "store/sendonce_store/migrations")
    return {path.name: path.read_text("utf-8") for path in folder.rglob("*.sql")}


def test_released_migrations_are_as_they_were_and_no_later_one_is_corrected_by_the_next(tmp_path: Path) -> None:
    """What is not released yet is mended where it stands: a store that is made anew runs no statement in vain."""
    released = _released(tmp_path)
    now = {f"{one.version:04}_{one.name}.sql": one.sql for one in migrations()}
    assert {name: now[name] for name in released} == released
    later = "".join(text for name, text in now.items() if name not in released)
    made = Counter(re.findall(r"^CREATE (?:OR REPLACE )?FUNCTION (sendonce\.\w+)", later, re.MULTILINE))
    assert [name for name, times in made.items() if times > 1] == []
