"""One login of the database per namespace: a namespace in, a login whose sessions see that namespace's rows alone out.

Who may see what stands in migration 0003 (row-level security) and `sql/tenancy.sql` (rights); who is a tenant stands in
the table `tenants`. A rotation makes a second login, so that workers can be restarted one by one; the first is retired
once they have been. Retiring locks out at once, open sessions too; the role is dropped when nothing is left of it.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sendonce_store.connection import Connection
from sendonce_store.locking import one_at_a_time
from sendonce_store.queries import load

SQL = load("tenancy")
SECRET_NAME, SECRET_KEY = "sendonce-store", "dsn"
Kind = Literal["worker", "application"]
"""What a login is for: workers of a campaign, or applications, which may call `sendonce.enqueue` and nothing else."""
SECRET_NAMES: Mapping[Kind, str] = {"worker": SECRET_NAME, "application": "sendonce-application"}
NOT_OURS = "SO002"
# RFC 1123: what a namespace may be called
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
# of a connection string, what is no login and no file of the one who asks
_SHARED = frozenset({
    "host", "hostaddr", "port", "dbname", "sslmode", "sslrootcert", "target_session_attrs", "channel_binding",
})  # fmt: skip
_SHOWN_CAMPAIGNS = 5
_LOOKS, _PAUSE = 200, 0.05  # how often, and after how many seconds, to see whether the sessions of a login have ended


class TenancyError(Exception):
    """A login can't be made, changed or removed; the message says why and what would do."""


@dataclass(frozen=True, slots=True)
class Login:
    """A login as it was made: the only time that its password is known."""

    namespace: str
    role: str
    password: str
    kind: Kind = "worker"

    def dsn(self, address: str) -> str:
        """The connection string with this login, for the server and database of `address`. Raises TenancyError."""
        return make_conninfo(**check_address(address), user=self.role, password=self.password)


def check_address(address: str) -> dict[str, Any]:
    """What of a connection string holds for every login, from wherever. Raises TenancyError."""
    try:
        given = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        message = "the address of the database is not a connection string such as postgresql://host:5432/database"
        raise TenancyError(message) from None
    if not given.get("dbname"):
        message = "the address of the database names none: write postgresql://host:5432/database"
        raise TenancyError(message)
    return {name: value for name, value in given.items() if name in _SHARED}


@dataclass(frozen=True, slots=True)
class Tenant:
    """A namespace with logins. `retired`: logins that are locked out but not dropped; `unfinished`: campaigns."""

    namespace: str
    since: datetime
    logins: Sequence[str]
    retired: int
    sessions: int
    unfinished: int
    kind: Kind = "worker"


@dataclass(frozen=True, slots=True)
class Removed:
    """A login that is locked out. `left`: why its role is still there; None: it is gone."""

    role: str
    left: str | None


async def add(conn: Connection, namespace: str, kind: Kind = "worker") -> Login:
    """Make the first login of a namespace, of its kind. Raises TenancyError."""
    return await _make(conn, namespace, kind, first=True)


async def rotate(conn: Connection, namespace: str, kind: Kind = "worker") -> Login:
    """Make the next login of a namespace; those that it has stay good until `retire`. Raises TenancyError."""
    return await _make(conn, namespace, kind, first=False)


async def _make(conn: Connection, namespace: str, kind: Kind, *, first: bool) -> Login:
    _check_namespace(namespace)
    password = secrets.token_urlsafe(32)
    async with conn.transaction():
        await _begin(conn)
        known = [row for row in await _logins(conn, namespace, kind) if row["retired_at"] is None]
        if first and known:
            message = f"namespace {namespace} has a login already ({known[-1]['role']}): rotate it for a new password"
            raise TenancyError(message)
        if not first and not known:
            message = f"namespace {namespace} has no login: add one first"
            raise TenancyError(message)
        role = await _make_role(conn, namespace, password, kind)
    return Login(namespace, role, password, kind)


async def _make_role(conn: Connection, namespace: str, password: str, kind: Kind) -> str:
    try:
        await conn.execute(SQL["make_group"])
        await conn.execute(SQL["grant_rights"])
        asked = {"namespace": namespace, "verifier": _verifier(conn, password), "kind": kind}
        cursor = await conn.execute(SQL["make_login"], asked)
    except psycopg.Error as error:
        raise _explained(error) from error
    row = await cursor.fetchone()
    return str(row["role"]) if row else ""


async def _begin(conn: Connection) -> None:
    """Look whether the session may make logins, and wait for whoever else does so. Raises TenancyError."""
    cursor = await conn.execute(SQL["who_asks"])
    row = await cursor.fetchone()
    if row is None or not row["owner"]:
        role = row["role"] if row else "this user"
        message = f"{role} does not own the schema sendonce: connect as the role that ran `sendonce migrate`"
        raise TenancyError(message)
    if not row["makes_roles"]:
        message = f"{row['role']} may not make roles: ALTER ROLE {row['role']} CREATEROLE, or connect as one that may"
        raise TenancyError(message)
    await one_at_a_time(conn)


def _explained(error: psycopg.Error) -> Exception:
    """The error of a role that is somebody else's, in words; any other as it is."""
    if error.sqlstate == NOT_OURS:
        return TenancyError(str(error.diag.message_primary))
    return error


def _check_namespace(namespace: str) -> None:
    if not _NAMESPACE.fullmatch(namespace):
        message = f"{namespace!r} is not the name of a namespace: use lower-case letters, digits and dashes, at most 63"
        raise TenancyError(message)


async def _logins(conn: Connection, namespace: str, kind: Kind) -> list[dict[str, Any]]:
    cursor = await conn.execute(SQL["logins"], {"namespace": namespace, "kind": kind})
    return await cursor.fetchall()


async def tenants(conn: Connection) -> list[Tenant]:
    """All namespaces with logins, in order."""
    cursor = await conn.execute(SQL["tenants"])
    return [_tenant(row) for row in await cursor.fetchall()]


def _tenant(row: Mapping[str, Any]) -> Tenant:
    return Tenant(**{**row, "logins": row["logins"] or []})


async def retire(conn: Connection, namespace: str, kind: Kind = "worker") -> list[Removed]:
    """Lock out every login of a namespace but the newest, and drop their roles. Raises TenancyError."""
    async with conn.transaction():
        await _begin(conn)
        rows = await _logins(conn, namespace, kind)
        current = [row["role"] for row in rows if row["retired_at"] is None]
        if not current:
            message = f"namespace {namespace} has no login: add one first"
            raise TenancyError(message)
        leaving = [row["role"] for row in rows if row["role"] != current[-1]]
        await _retire(conn, leaving)
    return [await _drop(conn, role) for role in leaving]


async def remove(conn: Connection, namespace: str, kind: Kind = "worker") -> list[Removed]:
    """Lock out a namespace and drop its roles; its rows stay. Raises TenancyError, also while a campaign goes on."""
    async with conn.transaction():
        await _begin(conn)
        leaving = [row["role"] for row in await _logins(conn, namespace, kind)]
        if not leaving:
            message = f"namespace {namespace} has no login"
            raise TenancyError(message)
        if kind == "worker":
            await _refuse_while_unfinished(conn, namespace)
        await _retire(conn, leaving)
    return [await _drop(conn, role) for role in leaving]


async def _refuse_while_unfinished(conn: Connection, namespace: str) -> None:
    cursor = await conn.execute(SQL["unfinished"], {"namespace": namespace})
    keys = [row["send_key"] for row in await cursor.fetchall()]
    if not keys:
        return
    shown = ", ".join(keys[:_SHOWN_CAMPAIGNS]) + (", …" if len(keys) > _SHOWN_CAMPAIGNS else "")
    count = "a campaign that is" if len(keys) == 1 else f"{len(keys)} campaigns that are"
    message = f"namespace {namespace} has {count} not finished ({shown}): cancel, or wait for the end"
    raise TenancyError(message)


async def _retire(conn: Connection, roles: Sequence[str]) -> None:
    try:
        for role in roles:
            await conn.execute(SQL["retire_login"], {"role": role})
    except psycopg.Error as error:
        raise _explained(error) from error


async def _drop(conn: Connection, role: str) -> Removed:
    """End its sessions and drop the role once they are gone; what they had made for themselves goes with them."""
    try:
        for _ in range(_LOOKS):
            if not await _end_sessions(conn, role):
                break
            await asyncio.sleep(_PAUSE)
        await conn.execute(SQL["drop_login"], {"role": role})
    except psycopg.Error as error:
        return Removed(role, " ".join(str(error).split()))
    return Removed(role, None)


async def _end_sessions(conn: Connection, role: str) -> int:
    cursor = await conn.execute(SQL["end_sessions"], {"role": role})
    row = await cursor.fetchone()
    return int(row["ended"]) if row else 0


def secret(login: Login, dsn: str, name: str | None = None) -> dict[str, Any]:
    """The Secret that the workers, or the applications, of the namespace mount."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name or SECRET_NAMES[login.kind],
            "namespace": login.namespace,
            "labels": {"app.kubernetes.io/managed-by": "sendonce"},
        },
        "type": "Opaque",
        "stringData": {SECRET_KEY: dsn},
    }


async def gateway_login(conn: Connection, password: str | None = None) -> Login:
    """Make the public gateway's login, which is for no namespace, or give it another password. Raises TenancyError."""
    sql = load("gateway")

    async def grant(conn: Connection) -> None:
        await conn.execute(sql["grant_gateway"])

    return await program_login(conn, sql["make_login"], grant, password)


async def program_login(
    conn: Connection,
    make: LiteralString,
    grant: Callable[[Connection], Awaitable[None]],
    password: str | None = None,
) -> Login:
    """Make the login of a program that is for no namespace, or give it another password. Raises TenancyError.

    `make` takes a verifier and returns the role. Sessions that it has go on; new ones need the new password.
    """
    password = password or secrets.token_urlsafe(32)
    async with conn.transaction():
        await _begin(conn)
        try:
            cursor = await conn.execute(make, {"verifier": _verifier(conn, password)})
            row = await cursor.fetchone()
            await grant(conn)
        except psycopg.Error as error:
            raise _explained(error) from error
    return Login("", str(row["role"]) if row else "", password)


def _verifier(conn: Connection, password: str) -> str:
    """The password as the server keeps it; made here, so that the password itself is in no log of the server."""
    return conn.pgconn.encrypt_password(password.encode(), b"", b"scram-sha-256").decode()
