"""Whose rows the console reads: namespaces in, a transaction that can only read, and only those, out.

For the console's login row-level security (`console_scope.sql`) compares each row's namespace with what `begin` sets;
anybody may set it, and only the console's login is asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("console_scope")


async def begin(conn: Connection, namespaces: Sequence[str], statement_ms: int) -> None:
    """Begin a transaction on one snapshot that reads these namespaces; whoever began it rolls it back."""
    await conn.execute(SQL["begin"])
    await conn.execute(SQL["scope"], {"viewed": ",".join(namespaces), "timeout": str(statement_ms)})


async def namespaces(conn: Connection) -> list[str]:
    """All namespaces that have, or had, campaigns: names alone, for the console to ask about each."""
    cursor = await conn.execute(SQL["namespaces"])
    return [row["namespace"] for row in await cursor.fetchall()]
