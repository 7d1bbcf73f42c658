"""The console over a real PostgreSQL with a seeded ledger, on the loopback interface.

In: a fresh database (`dsn`). Out: `console`, a Served:

    console.town                          what is in the store (tests/console_cases/town.py)
    await console.get(path, who)          a page, as `viewer` (campaigns of shop), `agent` (and people), `support` (and
                                          levers), `teller` (everything of bank), `admin` (everything); None: nobody
    await console.post(path, data, who)   a form, with its token; `page`: where the form stands
    await console.json(path, who)         what the API answers

The console reads through its own login: row-level security is on.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.console_cases.town import Town, build
from tests.integration.conftest import create_database, drop_database

from sendonce_console.access.viewer import WHATS, What
from sendonce_console.levers.local import LocalLevers
from sendonce_console.main import build_app, furnish
from sendonce_console.settings import ConsoleSettings
from sendonce_console.web.problems import ProblemError
from sendonce_store import console_login
from sendonce_store.connection import Connection, connect

if TYPE_CHECKING:
    from sendonce_console.console import Console

RIGHTS: Mapping[str, frozenset[tuple[str, str]]] = {
    "viewer": frozenset({("shop", "campaigns")}),
    "agent": frozenset({("shop", "campaigns"), ("shop", "people")}),
    "support": frozenset({("shop", "campaigns"), ("shop", "people"), ("shop", "levers")}),
    "teller": frozenset({("bank", "campaigns"), ("bank", "people"), ("bank", "levers")}),
    "admin": frozenset((n, w) for n in ("shop", "bank", "empty") for w in WHATS),
}


@dataclass(frozen=True)
class NamedViewer:
    name: str
    by_cookie = False

    async def may(self, namespace: str, what: What) -> bool:
        return (namespace, what) in RIGHTS[self.name]


class NamedDoor:
    """Lets in whoever says a name that is known, as `Authorization: Bearer name`."""

    local = False

    async def admit(self, request: web.Request) -> NamedViewer | None:
        name = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return NamedViewer(name) if name in RIGHTS else None

    def add_routes(self, app: web.Application, console: Console) -> None:
        return

    def entrance(self, request: web.Request) -> web.Response | None:
        return None

    def refusal(self, request: web.Request) -> web.Response | ProblemError:
        return ProblemError(401, "Who are you?", "Say a name.")

    async def problem(self) -> str | None:
        return None

    async def close(self) -> None:
        return


@dataclass
class Answer:
    status: int
    text: str
    headers: Mapping[str, str]


@dataclass
class Served:
    """The console as a browser or a program sees it."""

    base: str
    session: aiohttp.ClientSession
    town: Town
    conn: Connection
    dsn: str = field(repr=False)
    parts: Console

    async def get(self, path: str, who: str | None = "admin", **headers: str) -> Answer:
        return await self._ask("GET", path, who, headers=headers)

    async def post(self, path: str, data: Mapping[str, Any], who: str | None = "admin", page: str = "/") -> Answer:
        shown = await self.get(page, who)
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', shown.text)
        token = {"csrf": found[1]} if found else {}
        return await self._ask("POST", path, who, data={**token, **data})

    async def json(self, path: str, who: str | None = "admin") -> Any:
        async with self.session.get(self.base + path, headers=_named(who)) as answer:
            return await answer.json(content_type=None)

    async def _ask(self, method: str, path: str, who: str | None, **more: Any) -> Answer:
        headers = {"Accept": "text/html", **_named(who), **more.pop("headers", {})}
        asked = self.session.request(method, self.base + path, headers=headers, allow_redirects=False, **more)
        async with asked as answer:
            return Answer(answer.status, await answer.text(), answer.headers)


def _named(who: str | None) -> dict[str, str]:
    return {} if who is None else {"Authorization": f"Bearer {who}"}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def seeded(admin_dsn: str, template: str) -> AsyncIterator[tuple[str, Town]]:
    """Yield the name of a database with the town in it, that nobody is connected to, to be cloned for each test."""
    made = await create_database(admin_dsn, template)
    connection = await connect(made)
    town = await build(connection)
    await connection.close()
    yield str(conninfo_to_dict(made)["dbname"]), town
    await drop_database(admin_dsn, made)


@pytest_asyncio.fixture
async def dsn(admin_dsn: str, seeded: tuple[str, Town]) -> AsyncIterator[str]:
    """Yield the DSN of a fresh database with the town in it."""
    made = await create_database(admin_dsn, seeded[0])
    yield made
    await drop_database(admin_dsn, made)


@pytest_asyncio.fixture
async def conn(dsn: str) -> AsyncIterator[Connection]:
    """Yield the owner's connection to the fresh database, in which the workers live."""
    connection = await connect(dsn)
    await connection.execute("UPDATE sendonce.workers SET heartbeat_at = now() WHERE stopped_at IS NULL")
    yield connection
    await connection.close()


@pytest.fixture
def town(conn: Connection, seeded: tuple[str, Town]) -> Town:
    """Return the seeded store."""
    return replace(seeded[1], conn=conn)


@asynccontextmanager
async def serving(dsn: str, conn: Connection, town: Town) -> AsyncIterator[Served]:
    """The console over a store, with its own login."""
    login = await console_login.make(conn)
    settings = ConsoleSettings(
        dsn=make_conninfo(dsn, user=login.role, password=login.password), key=b"k" * 32, statement_seconds=2
    )
    parts = furnish(settings, NamedDoor(), LocalLevers(dsn))
    server = TestServer(build_app(parts))
    await server.start_server()
    # cookies of http on an address: as a browser that trusts loopback keeps them
    jar = aiohttp.CookieJar(unsafe=True, treat_as_secure_origin=[server.make_url("/")])
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        yield Served(str(server.make_url("")).rstrip("/"), session, town, conn, dsn, parts)
    await server.close()


@pytest_asyncio.fixture
async def console(dsn: str, conn: Connection, town: Town) -> AsyncIterator[Served]:
    """Yield the console over the seeded store."""
    async with serving(dsn, conn, town) as served:
        yield served


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def seen(admin_dsn: str, seeded: tuple[str, Town]) -> AsyncIterator[Served]:
    """Yield a console for tests that only look: all of a process share it, in the session's loop."""
    dsn = await create_database(admin_dsn, seeded[0])
    owner = await connect(dsn)
    async with serving(dsn, owner, replace(seeded[1], conn=owner)) as served:
        yield served
    await owner.close()
    await drop_database(admin_dsn, dsn)
