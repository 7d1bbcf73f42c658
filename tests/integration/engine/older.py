"""A store of an older version: the schema as the first migrations leave it."""

from __future__ import annotations

from sendonce_store.connection import Connection
from sendonce_store.migrate import migrations

__all__ = ["OLDER", "make_older"]

# the last one before the unique key of fallbacks changed
OLDER = 5
_VERSIONS = b"""
CREATE TABLE sendonce.schema_migrations
  (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
INSERT INTO sendonce.schema_migrations (version, name) SELECT n, 'n' FROM generate_series(1, 5) n;
"""


async def make_older(conn: Connection) -> None:
    """Make the schema of version OLDER in an empty database."""
    for one in migrations():
        if one.version <= OLDER:
            await conn.execute(one.sql)
    await conn.execute(_VERSIONS)
