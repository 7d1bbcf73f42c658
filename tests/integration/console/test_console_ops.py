"""What operators get of a console: metrics with bounded labels, what it stands on, logs in which nobody is found."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.integration.console.test_console_levers import form_of

from sendonce_console.app import ROUTES
from sendonce_console.ops import console_ops
from sendonce_store.connection import connect
from sendonce_store.logs import configure_logging, without_words

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served

SPRING = "/ns/shop/campaigns/spring"
Ops = TestClient[web.Request, web.Application]


@pytest_asyncio.fixture
async def ops(console: Served) -> AsyncIterator[Ops]:
    """Yield a client of the operators' port."""
    async with TestClient(TestServer(console_ops(console.parts))) as client:
        yield client


async def scraped(ops: Ops) -> dict[str, float]:
    """Every sample of a scrape, by its name and labels as they are written."""
    async with ops.get("/metrics") as answer:
        assert answer.status == 200
        text = await answer.text()
    samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


async def test_requests_are_counted_by_the_pattern_of_their_route(console: Served, ops: Ops) -> None:
    for path, who in ((SPRING, "viewer"), (f"{SPRING}/recipients/line:12", "agent"), ("/search?q=p2@", "agent")):
        assert (await console.get(path, who)).status == 200
    assert (await console.get(f"{SPRING}/recipients/line:12", "viewer")).status == 403
    assert (await console.get("/nobody/ada@example.com", "viewer")).status == 404
    found = await scraped(ops)
    campaign = "/ns/{namespace}/campaigns/{campaign}"
    requests = {
        (route, status): found[f'sendonce_console_requests_total{{route="{route}",status="{status}"}}']
        for route, status in (
            (campaign, 200),
            (campaign + "/recipients/{recipient}", 200),
            (campaign + "/recipients/{recipient}", 403),
            ("/search", 200),
            ("none", 404),
        )
    }
    assert set(requests.values()) == {1.0}
    assert found[f'sendonce_console_request_seconds_count{{route="{campaign}"}}'] == 1
    known = {route.path for route in ROUTES} | {"none"}
    assert set(re.findall(r'route="([^"]*)"', " ".join(found))) <= known
    for personal in ("shop", "spring", "line:12", "example", "p2"):
        assert personal not in " ".join(found)


async def test_orders_are_counted_once_they_are_given(console: Served, ops: Ops) -> None:
    asked = await console.get(f"{SPRING}/levers/give-up", "support")
    assert (await console.post(f"{SPRING}/levers/give-up", {"name": "x", "deliveries": "no"}, "support")).status == 400
    assert (await scraped(ops))['sendonce_console_orders_total{lever="give-up"}'] == 0
    assert (await console.post(f"{SPRING}/levers/give-up", form_of(asked.text), "support")).status == 303
    assert (await scraped(ops))['sendonce_console_orders_total{lever="give-up"}'] == 1


async def test_a_database_that_is_away_is_told_to_operators_and_its_return_too(
    console: Served, ops: Ops, admin_dsn: str
) -> None:
    name = sql.Identifier(str(conninfo_to_dict(console.dsn)["dbname"]))
    assert (await scraped(ops))["sendonce_console_store_up"] == 1
    async with ops.get("/readyz") as ready:
        assert (ready.status, await ready.text()) == (200, "database and API server answer\n")
    async with await connect(admin_dsn) as admin:
        await admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        try:
            await console.parts.reader.close()
            found = await scraped(ops)
            assert (found["sendonce_console_store_up"], found["sendonce_console_api_server_up"]) == (0, 1)
            async with ops.get("/readyz") as ready:
                assert ready.status == 503
                assert "can't be used" in await ready.text()
            async with ops.get("/healthz") as alive:
                assert alive.status == 200
        finally:
            await admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))
    assert (await scraped(ops))["sendonce_console_store_up"] == 1


async def test_a_schema_that_does_not_fit_is_said_to_people_and_to_operators(console: Served, ops: Ops) -> None:
    """As between the two halves of an upgrade."""
    await console.parts.reader.close()
    await console.conn.execute("INSERT INTO sendonce.schema_migrations (version, name) VALUES (9999, 'later')")
    answer = await console.get(SPRING, "viewer")
    assert answer.status == 503
    assert "upgrade this program" in answer.text
    async with ops.get("/readyz") as ready:
        assert (ready.status, "upgrade this program" in await ready.text()) == (503, True)


async def test_metrics_and_readiness_are_not_on_the_port_of_people(console: Served) -> None:
    for path in ("/metrics", "/readyz"):
        assert (await console.get(path, "admin")).status == 404


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """What a console logs, as in a cluster."""
    stream, root = io.StringIO(), logging.getLogger()
    before, level = root.handlers[:], root.level
    configure_logging("DEBUG", "json", filters=(without_words,), stream=stream)
    try:
        yield stream
    finally:
        root.handlers[:] = before
        root.setLevel(level)


async def test_a_fault_is_logged_with_its_number_its_place_and_nobodys_address(console: Served) -> None:
    """What comes out of the database does not fit the model, whose error quotes it."""
    quoting = """UPDATE sendonce.campaigns SET spec = '{"messages": "ada@example.com"}' WHERE name = 'spring'"""
    await console.conn.execute(quoting)
    with logged() as stream:
        answer = await console.get(f"{SPRING}?q=ada@example.com", "viewer")
    assert answer.status == 500
    number = re.search(r"noted in its log under ([0-9a-f]{8})", answer.text)
    assert number is not None
    (line,) = [one for one in map(json.loads, stream.getvalue().splitlines()) if one["level"] == "ERROR"]
    assert line["message"].startswith(f"error {number[1]}:")
    assert (line["method"], line["route"]) == ("GET", "/ns/{namespace}/campaigns/{campaign}")
    assert line["exception"].endswith("ValidationError")
    for personal in ("ada@", "spring", "shop"):
        assert personal not in stream.getvalue()
