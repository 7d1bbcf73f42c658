"""The public gateway over a fresh database, with its own login, on the loopback interface.

In: a fresh database (`dsn`). Out, for a test that asks for `gate`:

    gate.url, gate.ops   the public server, and the one for the cluster
    gate.owner           the owner's connection to the store
    gate.get, gate.post  requests to the public server; what came back, read to its end
    gate.link(…)         a link as a worker of the namespace makes it
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, LiteralString, Protocol

import aiohttp
import pytest_asyncio
from psycopg.conninfo import make_conninfo

from sendonce_gateway.main import serving
from sendonce_gateway.settings import GatewaySettings
from sendonce_store import tenancy
from sendonce_store.connection import Connection, connect
from sendonce_store.link_tokens import Purpose, Sealer, Wish
from sendonce_store.links import Links, campaign_links
from sendonce_store.tenancy import Login

HOST = "127.0.0.1"
PUBLIC = "https://notify.example.com/base"
WISH = Wish("Email", "Marketing", "newsletter", "ada@example.com")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def title(self) -> str:
        found = re.search(r"<h1>(.*?)</h1>", self.text)
        assert found is not None, self.text
        return found[1]


class Gate:
    """A running gateway and what is around it."""

    def __init__(self, ports: list[int], owner: Connection, client: aiohttp.ClientSession) -> None:
        self.url, self.ops = (f"http://{HOST}:{port}" for port in ports)
        self.owner = owner
        self.client = client

    async def get(self, path: str, **more: Any) -> Answer:
        return await self._ask("GET", path, **more)

    async def post(self, path: str, data: Any = None, **more: Any) -> Answer:
        return await self._ask("POST", path, data=data, **more)

    async def _ask(self, method: str, path: str, **more: Any) -> Answer:
        async with self.client.request(method, self.url + path, allow_redirects=False, **more) as response:
            return Answer(response.status, dict(response.headers), await response.text())

    async def rows(self, statement: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        cursor = await self.owner.execute(statement, parameters)
        return await cursor.fetchall() if cursor.description else []

    async def opt_outs(self) -> set[tuple[str, str, str, str, str]]:
        rows = await self.rows("SELECT namespace, channel, address, category, topic FROM sendonce.opt_outs")
        return {(r["namespace"], r["channel"], r["address"], r["category"], r["topic"]) for r in rows}

    async def links(self, namespace: str = "shop", name: str = "spring", topic: str | None = "newsletter") -> Links:
        """What a campaign of the namespace makes its links with; the campaign is made if it is not there."""
        rows = await self.rows(
            "INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category, topic)"
            " VALUES (%(namespace)s, %(name)s, %(name)s, 'h', '{}', 'Marketing', %(topic)s)"
            " ON CONFLICT (namespace, send_key) DO UPDATE SET name = excluded.name RETURNING id",
            namespace=namespace,
            name=name,
            topic=topic,
        )
        links = await campaign_links(self.owner, rows[0]["id"], PUBLIC)
        assert links is not None
        return links

    async def link(self, purpose: Purpose = "unsubscribe", namespace: str = "shop", **wish: str) -> str:
        """The path of a link."""
        links = await self.links(namespace)
        return f"/{purpose[0]}/{Sealer(links.key, purpose).seal(replace(WISH, **wish))}"

    async def metrics(self) -> str:
        async with self.client.get(f"{self.ops}/metrics") as response:
            return await response.text()


class Opening(Protocol):
    """Opens a gateway with other settings."""

    def __call__(self, **settings: Any) -> Awaitable[Gate]: ...


@pytest_asyncio.fixture
async def owner(dsn: str) -> AsyncIterator[Connection]:
    """Yield the owner's connection to a fresh, migrated database."""
    conn = await connect(dsn, application_name="test")
    yield conn
    await conn.close()


@pytest_asyncio.fixture
async def login(owner: Connection) -> Login:
    """Return the gateway's login."""
    return await tenancy.gateway_login(owner)


@pytest_asyncio.fixture
async def open_gate(dsn: str, owner: Connection, login: Login) -> AsyncIterator[Opening]:
    """Yield a function that opens a gateway: its settings in, the gateway out."""
    settings = GatewaySettings(login_dsn(dsn, login), PUBLIC, port=0, ops_port=0, store_connections=4)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(aiohttp.ClientSession())

        async def make(**more: Any) -> Gate:
            ports = await stack.enter_async_context(serving(replace(settings, **more), HOST))
            return Gate(ports, owner, client)

        yield make


def login_dsn(dsn: str, login: Login) -> str:
    """The DSN of a login in the fresh database, also where the server is reached by a socket."""
    return make_conninfo(dsn, user=login.role, password=login.password)


@pytest_asyncio.fixture
async def gate(open_gate: Opening) -> Gate:
    """Return a running gateway."""
    return await open_gate()
