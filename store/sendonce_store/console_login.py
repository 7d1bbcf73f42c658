"""The console's login of the database: an owner's connection in, a login that reads what it is told to look at out.

`sql/console_scope.sql` says what it sees and may do. There is one; made again, it gets a new
password.
"""

from __future__ import annotations

from sendonce_store.connection import Connection
from sendonce_store.console_scope import SQL
from sendonce_store.tenancy import Login, program_login

SECRET_NAME = "sendonce-console-store"  # noqa: S105 - a name, and no secret


async def make(conn: Connection, password: str | None = None) -> Login:
    """Make the console's login, or give it another password. Raises TenancyError."""
    return await program_login(conn, SQL["make_login"], SQL["grant_rights"], password)
