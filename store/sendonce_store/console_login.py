"""The console's login of the database: an owner's connection in, a login that reads what it is told to look at out.

`sql/console_scope.sql` says what it sees and may do. There is one; made again, it gets a new
password.
"""

from __future__ import annotations

from sendonce_store.connection import Connection
from sendonce_store.locking import lock_tables
from sendonce_store.queries import load
from sendonce_store.tenancy import Login, program_login

SQL = load("console_scope")
SECRET_NAME = "sendonce-console-store"  # noqa: S105 - a name, and no secret


async def make(conn: Connection, password: str | None = None) -> Login:
    """Make the console's login, or give it another password. Raises TenancyError and SchemaBusyError."""
    return await program_login(conn, SQL["make_login"], grant, password)


async def grant(conn: Connection) -> None:
    """Give the login its rights, in a transaction; nothing where there is none. Raises SchemaBusyError.

    Policies are made once. That locks the tables, at which workers may be at work.
    """
    row = await (await conn.execute(SQL["lacks_policies"])).fetchone()
    if row is not None and row["lacks"]:
        await lock_tables(conn)
    await conn.execute(SQL["grant_rights"])
