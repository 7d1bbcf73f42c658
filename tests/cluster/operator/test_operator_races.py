"""What happens between two steps of a reconcile: an edit, a deletion, the end of the process, another operator.

The operator's own functions run in the test's process here, against the real API server and a real PostgreSQL, so that
a test can step in between.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from prometheus_client import CollectorRegistry
from tests.cluster.operator.stage import Stage, campaign, people, provider

from sendonce_operator.cluster import Cluster, Object
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.objects import CAMPAIGN
from sendonce_operator.reconcile import reconcile
from sendonce_operator.runtime import Runtime
from sendonce_operator.settings import read_settings
from sendonce_store.connection import Connection, connect

Meddle = Callable[[], Awaitable[Any]]


class Killed(BaseException):
    """The process ends here."""


class MeddledCluster(Cluster):
    """Lets a test step in before the operator's first write to an object, or before it looks whether it is there."""

    before_write: Meddle | None = None
    before_look: Meddle | None = None

    async def patch(self, path: str, body: Object) -> Object:
        if self.before_write is not None:
            meddle, self.before_write = self.before_write, None
            await meddle()
        return await super().patch(path, body)

    async def find(self, path: str) -> Object | None:
        if self.before_look is not None and "notificationcampaigns" in path:
            meddle, self.before_look = self.before_look, None
            await meddle()
        return await super().find(path)


class Hand:
    """One operator that does one step when it is told to."""

    def __init__(self, stage: Stage, cluster: MeddledCluster) -> None:
        environment = {"SENDONCE_DSN": stage.dsn, "SENDONCE_WORKER_IMAGE": "worker", "KUBECONFIG": "/dev/null"}
        self.cluster = cluster
        self.runtime = Runtime(read_settings(environment), cluster, OperatorMetrics(CollectorRegistry()))
        self.stage = stage

    async def see(self, name: str) -> None:
        """The watch shows the object as it is now."""
        body = await self.stage.get(name)
        if body is not None:
            self.runtime.watched.note(CAMPAIGN, body)

    async def reconcile(self, name: str) -> None:
        await reconcile(self.runtime, self.stage.key(CAMPAIGN, name))


@pytest_asyncio.fixture
async def hands(stage: Stage) -> AsyncIterator[Callable[[], Hand]]:
    """Yield what makes operators."""
    client: Any = await stage.cluster.async_client()
    made: list[Hand] = []

    def make() -> Hand:
        hand = Hand(stage, MeddledCluster(client))
        made.append(hand)
        return hand

    yield make
    for hand in made:
        await hand.runtime.close()
    await client.close()


@pytest_asyncio.fixture
async def conn(stage: Stage) -> AsyncIterator[Connection]:
    connection = await connect(stage.dsn)
    yield connection
    await connection.close()


async def rows(conn: Connection) -> list[dict[str, Any]]:
    cursor = await conn.execute(
        """SELECT c.owner_uid, c.generation, jsonb_array_length(c.spec -> 'recipients' -> 'inline') AS people,
                  (SELECT count(*) FROM sendonce.batches b WHERE b.campaign_id = c.id) AS batches,
                  (SELECT count(*) FROM sendonce.channels h WHERE h.campaign_id = c.id) AS channels
             FROM sendonce.campaigns c ORDER BY c.id"""
    )
    return await cursor.fetchall()


def started(found: Object | None) -> str | None:
    value = (found or {}).get("status", {}).get("startTime")
    return None if value is None else str(value)


async def test_an_edit_between_row_and_start_is_what_is_sent(
    stage: Stage, hands: Callable[[], Hand], conn: Connection
) -> None:
    await stage.apply(provider(stage.simulator), campaign("spring", count=2))
    hand = hands()
    await hand.see("spring")
    hand.cluster.before_write = lambda: stage.patch("spring", {"recipients": {"inline": people(7)}})
    await hand.reconcile("spring")
    assert started(await stage.get("spring")) is None, "nothing may be sent of a content that is not the object's"
    await hand.reconcile("spring")
    found = await stage.get("spring")
    assert found is not None
    assert started(found)
    assert await rows(conn) == [
        {
            "owner_uid": found["metadata"]["uid"],
            "generation": found["metadata"]["generation"],
            "people": 7,
            "batches": 1,
            "channels": 1,
        }
    ]


async def test_an_edit_after_an_operator_died_between_row_and_start_is_what_is_sent(
    stage: Stage, hands: Callable[[], Hand], conn: Connection
) -> None:
    await stage.apply(provider(stage.simulator), campaign("spring", count=2))
    first = hands()
    await first.see("spring")

    async def die() -> None:
        raise Killed

    first.cluster.before_write = die
    with pytest.raises(Killed):
        await first.reconcile("spring")
    assert [row["people"] for row in await rows(conn)] == [2]
    await stage.patch("spring", {"recipients": {"inline": people(7)}})
    second = hands()
    await second.see("spring")
    await second.reconcile("spring")
    assert started(await stage.get("spring"))
    assert [(row["people"], row["batches"]) for row in await rows(conn)] == [(7, 1)]


async def test_a_write_that_changes_no_content_does_not_hold_up_the_start(
    stage: Stage, hands: Callable[[], Hand], conn: Connection
) -> None:
    await stage.apply(provider(stage.simulator), campaign("spring", count=2))
    hand = hands()
    await hand.see("spring")
    hand.cluster.before_write = lambda: stage.kubectl("annotate", "nc", "spring", "somebody=else")
    await hand.reconcile("spring")
    assert started(await stage.get("spring"))
    assert len(await rows(conn)) == 1


async def test_an_object_that_is_deleted_while_its_row_is_made_leaves_no_row(
    stage: Stage, hands: Callable[[], Hand], conn: Connection
) -> None:
    await stage.apply(provider(stage.simulator), campaign("spring", count=2))
    hand = hands()
    await hand.see("spring")
    hand.cluster.before_look = lambda: stage.kubectl("delete", "nc", "spring", "--timeout=30s")
    await hand.reconcile("spring")
    assert await rows(conn) == []


async def test_an_operator_that_is_behind_does_not_undo_an_edit(
    stage: Stage, hands: Callable[[], Hand], conn: Connection
) -> None:
    await stage.apply(provider(stage.simulator), campaign("spring", count=2))
    old, new = hands(), hands()
    await new.see("spring")
    await new.reconcile("spring")
    await old.see("spring")  # and then sees nothing more
    await stage.patch("spring", {"suspend": True})
    await new.see("spring")
    await new.reconcile("spring")
    await old.reconcile("spring")
    cursor = await conn.execute("SELECT suspended FROM sendonce.campaigns")
    assert await cursor.fetchone() == {"suspended": True}


async def test_two_operators_that_make_the_row_at_the_same_moment_make_one(
    stage: Stage, hands: Callable[[], Hand], conn: Connection
) -> None:
    await stage.apply(provider(stage.simulator), campaign("spring", count=2))
    first, second = hands(), hands()
    await first.see("spring")
    await second.see("spring")
    second.cluster.before_write = lambda: first.reconcile("spring")
    await second.reconcile("spring")
    await second.reconcile("spring")
    assert started(await stage.get("spring"))
    assert [(row["people"], row["batches"]) for row in await rows(conn)] == [(2, 1)]
