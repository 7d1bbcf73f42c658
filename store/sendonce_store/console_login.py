"""The console's login of the database: an owner's connection in, a login that reads what it is told to look at out.

`sql/console_scope.sql` says what it sees and may do. There is one; made again, it gets a new
password.
"""

from __future__ import annotations

import hashlib
import secrets

import psycopg

from sendonce_store.connection import Connection
from sendonce_store.console_scope import SQL
from sendonce_store.tenancy import Login, begin_making, check_address, explained

SECRET_NAME = "sendonce-console-store"  # noqa: S105 - a name, and no secret


async def make(conn: Connection, password: str | None = None) -> Login:
    """Make the console's login, or give it another password. Raises TenancyError."""
    password = password or secrets.token_urlsafe(32)
    async with conn.transaction():
        await begin_making(conn)
        try:
            # made here, so that the password itself is in no log of the server
            verifier = conn.pgconn.encrypt_password(password.encode(), b"", b"scram-sha-256").decode()
            cursor = await conn.execute(SQL["make_login"], {"verifier": verifier})
            row = await cursor.fetchone()
            await conn.execute(SQL["grant_rights"])
        except psycopg.Error as error:
            raise explained(error) from error
    return Login("", str(row["role"]) if row else "", password)


def address_with_login(address: str, password: str) -> str:
    """The connection string of the console's login, for the database of `address`. Raises TenancyError."""
    given = check_address(address)
    # as the schema's function names it (migration 0009)
    digest = hashlib.sha256(str(given["dbname"]).encode()).hexdigest()[:8]
    return Login("", f"sendonce_console_{digest}", password).dsn(address)
