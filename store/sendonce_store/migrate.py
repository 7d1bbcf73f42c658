"""Migrations: numbered SQL files in, a schema of that version out.

All of them run in one transaction under an advisory lock, so that programs that start together wait for each other and
a failed migration leaves the schema as it was. A schema newer than the program is refused: an old worker must not
write rows by rules it does not know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import LiteralString

import psycopg

from sendonce_store import console_login
from sendonce_store.connection import Connection, connect
from sendonce_store.locking import lock_tables, one_at_a_time
from sendonce_store.queries import load


class SchemaVersionError(Exception):
    """The schema in the database and this program don't fit; the message says which side is to be upgraded."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file."""

    version: int
    name: str
    sql: LiteralString


def migrations() -> list[Migration]:
    """Every migration that this program knows, in order."""
    found = []
    for entry in (files("sendonce_store") / "migrations").iterdir():
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name)
        if match:
            found.append(Migration(int(match[1]), match[2], entry.read_text("utf-8")))
    return sorted(found, key=lambda migration: migration.version)


def newest() -> int:
    """The schema version that this program is written for."""
    return migrations()[-1].version


async def schema_version(conn: Connection) -> int:
    """The version in the database; 0 where there is no schema."""
    cursor = await conn.execute("SELECT to_regclass('sendonce.schema_migrations') IS NOT NULL AS present")
    row = await cursor.fetchone()
    if row is None or not row["present"]:
        return 0
    cursor = await conn.execute("SELECT coalesce(max(version), 0) AS version FROM sendonce.schema_migrations")
    row = await cursor.fetchone()
    return int(row["version"]) if row else 0


async def require_current(conn: Connection) -> None:
    """Raise SchemaVersionError unless the schema is the one that this program is written for."""
    found, wanted = await schema_version(conn), newest()
    if found > wanted:
        message = f"the schema is version {found}, this program knows {wanted}: upgrade this program"
        raise SchemaVersionError(message)
    if found < wanted:
        message = f"the schema is version {found}, this program needs {wanted}: run `sendonce migrate`"
        raise SchemaVersionError(message)


async def migrate(dsn: str) -> int:
    """Bring the schema to the newest version and return how many migrations ran.

    Raises SchemaVersionError, and SchemaBusyError where the tables could not be had from those at work.
    """
    conn = await connect(dsn, application_name="sendonce migrate")
    try:
        return await _apply_missing(conn)
    finally:
        await conn.close()


async def _apply_missing(conn: Connection) -> int:
    async with conn.transaction():
        await conn.execute("SET LOCAL lock_timeout = '5min'")
        await conn.execute("SET LOCAL statement_timeout = 0")
        await one_at_a_time(conn)
        version = await schema_version(conn)
        if version > newest():
            await require_current(conn)
        missing = [migration for migration in migrations() if migration.version > version]
        if missing:
            await lock_tables(conn)
        for migration in missing:
            await _apply(conn, migration)
        # the rights of tenants, gateway and console belong to the program, not to one migration
        await conn.execute(load("tenancy")["grant_rights"])
        await conn.execute(load("gateway")["grant_gateway"])
        await console_login.grant(conn)
    return len(missing)


async def _apply(conn: Connection, migration: Migration) -> None:
    try:
        await conn.execute(migration.sql)
    except psycopg.errors.RaiseException as error:
        message = f"{error.diag.message_primary}. {error.diag.message_hint}"
        raise SchemaVersionError(message) from error
    await conn.execute(
        "CREATE TABLE IF NOT EXISTS sendonce.schema_migrations"
        " (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    await conn.execute(
        "INSERT INTO sendonce.schema_migrations (version, name) VALUES (%s, %s)", [migration.version, migration.name]
    )
