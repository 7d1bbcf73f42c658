"""What a run plays on: its database, proxy, far end, workers and campaign.

In: a scenario and a lane. Out: a `Stage` that everything else acts upon, and its tidy end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo
from tests.chaos import documents
from tests.chaos.audience import People, people_of
from tests.chaos.crew import Crew, FarEndProcess
from tests.chaos.lane import Lane, address_of, watcher
from tests.chaos.proxy import Proxy
from tests.chaos.scenario import Scenario
from tests.chaos.story import Story

from sendonce_store import campaigns
from sendonce_store.actions import Target
from sendonce_store.connection import Connection
from sendonce_store.spec import NotificationCampaign, NotificationProvider, load_documents

T = TypeVar("T")
_TRIES = 60


@dataclass(slots=True)
class Stage:
    """One run's parts."""

    scenario: Scenario
    people: People
    folder: Path
    story: Story
    lane: Lane
    dsn: str
    proxy: Proxy
    far_end: FarEndProcess
    crew: Crew
    target: Target
    orders: int = 0
    suspended: bool = False

    @asynccontextmanager
    async def db(self) -> AsyncIterator[Connection]:
        """A connection straight to the server, which may be restarting."""
        conn = await patiently(lambda: watcher(self.dsn))
        try:
            yield conn
        finally:
            await conn.close()

    async def campaign(self) -> dict[str, Any]:
        """The campaign's row now."""

        async def read() -> dict[str, Any]:
            async with self.db() as conn:
                cursor = await conn.execute("SELECT * FROM sendonce.campaigns")
                return (await cursor.fetchall())[0]

        return await patiently(read)


async def patiently(act: Callable[[], Awaitable[T]]) -> T:
    """Do it, again while the database is away or a lock is held, as a person would."""
    for left in range(_TRIES, -1, -1):
        try:
            return await act()
        except psycopg.OperationalError:
            if not left:
                raise
            await asyncio.sleep(0.25)
    raise AssertionError


@asynccontextmanager
async def set_up(scenario: Scenario, lane: Lane, folder: Path, story: Story) -> AsyncIterator[Stage]:
    """Everything but the workers runs on entry; on exit nothing does."""
    database = f"chaos_{scenario.seed}"
    dsn = await lane.clone(database)
    server = address_of(dsn)
    proxy = Proxy(server.host, server.port, story.say)
    far_end = FarEndProcess(scenario, folder, story)
    people = people_of(scenario)
    _write_list(folder, people)
    await proxy.start()
    crew = Crew(scenario, folder, _env(dsn, proxy.port, folder), story)
    try:
        await far_end.start()
        target = await _adopt(dsn, scenario, far_end.ports)
        yield Stage(scenario, people, folder, story, lane, dsn, proxy, far_end, crew, target)
    finally:
        await crew.stop()
        await far_end.stop()
        await proxy.close()
        await patiently(lambda: lane.drop(database))


def _write_list(folder: Path, people: People) -> None:
    place = folder / "files" / "configmaps" / documents.LIST_MAP
    place.mkdir(parents=True, exist_ok=True)
    (place / documents.LIST_KEY).write_text(people.text, "utf-8")


def _env(dsn: str, port: int, folder: Path) -> dict[str, str]:
    return {
        "SENDONCE_DSN": make_conninfo(dsn, port=port, gssencmode="disable"),
        "SENDONCE_NAMESPACE": documents.NAMESPACE,
        "SENDONCE_SEND_KEY": documents.NAME,
        "SENDONCE_FILES": str(folder / "files"),
        "PYTHONFAULTHANDLER": "1",
    }


async def _adopt(dsn: str, scenario: Scenario, ports: dict[str, int]) -> Target:
    conn = await watcher(dsn)
    try:
        for document in load_documents(documents.documents(scenario, ports), "chaos.yaml"):
            resource = document.resource
            if isinstance(resource, NotificationProvider):
                await campaigns.sync_provider(conn, resource)
            elif isinstance(resource, NotificationCampaign):
                adoption = await campaigns.adopt(conn, resource, resource.spec)
                return Target(adoption.campaign_id, documents.NAMESPACE)
    finally:
        await conn.close()
    raise AssertionError("no campaign among the documents")


def now() -> float:
    """The wall clock; the database runs on the same machine."""
    return time.time()
