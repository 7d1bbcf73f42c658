"""A campaign with deliveries in every state, and the login of the gateway that takes reports of it in.

In: `world` of the engine's tests. Out, for a test that asks for `reports`:

    reports.told(…)      a provider's report of a delivery; what became of it
    reports.gateway      the gateway's login
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest_asyncio
from psycopg.conninfo import make_conninfo
from tests.integration.engine.conftest import Campaign, World, far_end, worker_dsn, world

from sendonce_store import receipts, tenancy
from sendonce_store.connection import Connection, connect
from sendonce_store.receipts import Kind, Receipt, Reporter

__all__ = ["HERE", "Reports", "far_end", "place_of", "worker_dsn", "world"]

HERE = Reporter("default", "ses", "far-end")


def place_of(row: dict[str, Any]) -> str:
    """The delivery's id as a worker writes it into the message's metadata."""
    return f"{row['batch_id']}-{row['no']}-{str(row['key'])[:8]}"


@dataclass
class Reports:
    """Takes reports in as the gateway does."""

    world: World
    gateway: Connection
    dsn: str
    count: int = 0

    async def told(self, kind: Kind, reporter: Reporter = HERE, **receipt: Any) -> str:
        """Take one report in; every one is another event unless it is given an id."""
        self.count += 1
        one = replace(Receipt(kind, f"event-{self.count}"), **receipt)
        [(_, result)] = await receipts.record(self.gateway, reporter, [one])
        return result

    async def about(self, row: dict[str, Any], kind: Kind, **receipt: Any) -> str:
        return await self.told(kind, delivery_id=place_of(row), **receipt)

    async def another(self) -> Connection:
        return await self.world.connect(self.dsn)

    async def counters(self, campaign: Campaign) -> tuple[int, int]:
        [row] = await campaign.query(
            "SELECT sum(delivered)::int AS d, sum(bounced)::int AS b FROM sendonce.batches WHERE campaign_id = %(id)s"
        )
        return row["d"], row["b"]


@pytest_asyncio.fixture
async def reports(world: World) -> AsyncIterator[Reports]:
    """Yield the gateway's login in the fresh database."""
    login = await tenancy.gateway_login(world.conn)
    dsn = make_conninfo(world.dsn, user=login.role, password=login.password)
    conn = await connect(dsn, application_name="test")
    yield Reports(world, conn, dsn)
    await conn.close()
