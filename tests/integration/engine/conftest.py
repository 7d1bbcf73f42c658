"""A campaign in a fresh database, made by the store's own functions, and the hands of the workers that send it.

In: the wishes of a test. Out, for a test that asks for `world`:

    world.campaign(…)      providers and a campaign, its recipients imported: deliveries that are due
    world.conn             the owner of the store: the operator, people, and a test that looks
    world.hands            the login of the namespace: whatever a worker does is done with that one
    campaign.claim(…)      what a worker does to the queue, step by step: several connections are several workers
    campaign.session(…)    a worker's own session over one batch, with a far end that a test tells what to do
    campaign.rows(), …     what the ledger says
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID, uuid4

import pytest_asyncio
from prometheus_client import CollectorRegistry
from psycopg.conninfo import make_conninfo
from psycopg.pq import ExecStatus

from sendonce_store import campaigns, conduct, imports, queue, tenancy
from sendonce_store.connection import Connection, connect
from sendonce_store.decisions import Facts, Policy, Step
from sendonce_store.recipients import Address, Recipient
from sendonce_store.rows import Batch, Holder, Repeats, Result, Started, Terms, Turn, TurnOutcome
from sendonce_store.spec import CampaignSpec, NotificationCampaign, NotificationProvider, load_documents
from sendonce_worker.alarms import StoreAlarms
from sendonce_worker.campaign import Campaign as WorkerCampaign
from sendonce_worker.link import Link
from sendonce_worker.metrics import WorkerMetrics
from sendonce_worker.providers.base import Accepted, Clearance, Message, Provider
from sendonce_worker.redaction import Redactor
from sendonce_worker.sending.clock import Lease, Moment
from sendonce_worker.sending.flying import Flying
from sendonce_worker.sending.outcomes import Backoff, Rules
from sendonce_worker.sending.plan import bundle_size, fallbacks_of, rows_ahead
from sendonce_worker.sending.session import Session
from sendonce_worker.sending.surroundings import Surroundings
from sendonce_worker.settings import WorkerSettings

NAMESPACE = "default"
DIGEST = b"\x01" * 32
KEYED = Repeats(key_window=86_400, patience=32, resend=False, max_attempts=5)
_TEMPLATES: Mapping[str, Mapping[str, str]] = {
    "Email": {"from": "a@example.com", "subject": "Hello", "text": "Hello {{ name }}"},
}
_OTHER_TEMPLATE = {"text": "Hello {{ name }}"}
_HTTP = {"url": "http://127.0.0.1:9/send", "idempotencyKeyHeader": "Idempotency-Key", "keyWindowSeconds": 86_400}


async def _nothing(message: Message) -> None:
    del message


async def _accept(message: Message) -> Accepted:
    return Accepted(f"id of {message.to}", "200")


class FarEnd:
    """A provider that does what a test tells it. `before`: connecting; `answer`: after the first byte."""

    def __init__(self, key_window: float | None = 86_400) -> None:
        self.key_window = key_window
        self.received: list[Message] = []
        self.before: Callable[[Message], Awaitable[None]] = _nothing
        self.answer: Callable[[Message], Awaitable[Accepted]] = _accept
        self._stirred = asyncio.Event()

    async def send(self, message: Message, clearance: Clearance) -> Accepted:
        await self.before(message)
        clearance()
        self.received.append(message)
        self._stirred.set()
        return await self.answer(message)

    async def aclose(self) -> None:
        return

    async def has_received(self, count: int) -> None:
        """Wait until so many messages are there."""
        async with asyncio.timeout(20):
            while len(self.received) < count:
                self._stirred.clear()
                await self._stirred.wait()

    @property
    def people(self) -> Counter[str]:
        """How many messages each address got."""
        return Counter(message.to for message in self.received)


class Campaign:
    """One campaign of the store, and what workers do to it. Without another connection, the world's hands are used."""

    def __init__(self, world: World, stored: campaigns.StoredCampaign) -> None:
        self.world = world
        self.stored = stored
        self.id = stored.id
        self.repeats = KEYED

    def holder(self, worker: str = "worker-1") -> Holder:
        return Holder(worker, NAMESPACE, self.id)

    async def imports(self, people: Sequence[Recipient], chunk: int = 10_000) -> None:
        """Import people to the end, in chunks."""
        conn = await self.world.connect(self.world.worker_dsn)
        batch = await self.claim(conn=conn)
        plan = await imports.prepare(conn, self.id)
        for start in range(0, len(people), chunk):
            part = people[start : start + chunk]
            block = plan.chunk(part, (), {"line": part[-1].line})
            await imports.commit_chunk(conn, batch, self.holder(), block, 60)
        await imports.finish(conn, batch, self.holder())
        await conn.close()

    async def try_claim(
        self,
        worker: str = "worker-1",
        *,
        conn: Connection | None = None,
        lease: float = 60.0,
        token: UUID | None = None,
    ) -> Batch | None:
        channels = await campaigns.read_channels(self.world.hands, self.id)
        repeats = dict.fromkeys((channel.channel for channel in channels), self.repeats)
        return await queue.claim(conn or self.world.hands, self.holder(worker), token or uuid4(), lease, repeats)

    async def claim(self, worker: str = "worker-1", *, conn: Connection | None = None, lease: float = 60.0) -> Batch:
        batch = await self.try_claim(worker, conn=conn, lease=lease)
        assert batch is not None, "nothing to claim"
        return batch

    async def turn(
        self, batch: Batch, *, conn: Connection | None = None, worker: str = "worker-1", **wishes: Any
    ) -> TurnOutcome:
        channels = await campaigns.read_channels(self.world.hands, self.id)
        capped = any(channel.capped for channel in channels)
        terms = Terms(self.repeats, fallbacks_of(batch.channel or "", channels), capped)
        return await queue.take_turn(conn or self.world.hands, batch, self.holder(worker), Turn(**wishes), terms)

    async def begin(
        self, batch: Batch, nos: Sequence[int] = (1,), *, digest: bytes = DIGEST, worker: str = "worker-1"
    ) -> Sequence[Started]:
        """Commit rows as `sending`; what came of it."""
        return (await self.turn(batch, worker=worker, group=[(no, digest) for no in nos])).started

    async def end(self, batch: Batch, no: int, state: str, seq: int = 1, **result: Any) -> TurnOutcome:
        """Write the result of one attempt."""
        if state == "pending":
            result.setdefault("delay", 0.0)
        return await self.turn(batch, results=[Result(no, seq, state, **result)])

    async def release(self, batch: Batch) -> str:
        return await queue.release(self.world.hands, batch)

    async def lapse(self) -> None:
        """Let every lease have ended a second ago."""
        await self.query(
            "UPDATE sendonce.batches SET claimable_at = now() - interval '1 s'"
            " WHERE campaign_id = %(id)s AND state = 'leased'"
        )

    async def age(self, seconds: float) -> None:
        """Let what is known of the past lie further back, and what is to come be nearer."""
        await self.query(
            "UPDATE sendonce.deliveries SET key_first_used_at = key_first_used_at - make_interval(secs => %(by)s),"
            " last_attempt_at = last_attempt_at - make_interval(secs => %(by)s),"
            " next_attempt_at = next_attempt_at - make_interval(secs => %(by)s) WHERE campaign_id = %(id)s",
            by=seconds,
        )
        await self.query(
            "UPDATE sendonce.batches SET claimable_at = claimable_at - make_interval(secs => %(by)s)"
            " WHERE campaign_id = %(id)s AND state <> 'leased'",
            by=seconds,
        )

    async def query(self, statement: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        cursor = await self.world.conn.execute(statement, {"id": self.id, **parameters})
        # `SELECT FROM` has rows, and no columns to describe
        rows = cursor.pgresult is not None and cursor.pgresult.status == ExecStatus.TUPLES_OK
        return await cursor.fetchall() if rows else []

    async def rows(self, channel: str = "Email") -> list[dict[str, Any]]:
        return await self.query(
            "SELECT * FROM sendonce.deliveries WHERE campaign_id = %(id)s AND channel = %(channel)s"
            " ORDER BY batch_id, no",
            channel=channel,
        )

    async def row(self, no: int = 1, channel: str = "Email") -> dict[str, Any]:
        return next(row for row in await self.rows(channel) if row["no"] == no)

    async def states(self, channel: str = "Email") -> dict[str, int]:
        return dict(Counter(row["state"] for row in await self.rows(channel)))

    async def batches(self) -> list[dict[str, Any]]:
        return await self.query(
            "SELECT id, channel, stage, state, fallback_of, nullif(claimable_at, 'infinity') AS claimable_at,"
            " lease_token, worker, leased_at, heartbeat_at, claims, crashes,"
            " pending, sending, sent, failed, uncertain, suppressed, expired, cancelled"
            " FROM sendonce.batches WHERE campaign_id = %(id)s AND kind = 'send' ORDER BY id"
        )

    async def attempts(self) -> list[dict[str, Any]]:
        return await self.query("SELECT * FROM sendonce.attempts WHERE campaign_id = %(id)s ORDER BY id")

    async def record(self) -> dict[str, Any]:
        """The campaign's own row."""
        return (await self.query("SELECT * FROM sendonce.campaigns WHERE id = %(id)s"))[0]

    async def facts(self) -> Facts:
        facts = await conduct.read_facts(self.world.hands, self.id)
        assert facts is not None
        return facts

    async def conduct(self, **policy: Any) -> list[Step]:
        wanted: Policy = replace(campaigns.policy_of(self.stored.spec), **policy)
        return await conduct.conduct(self.world.hands, self.id, wanted)

    async def session(
        self,
        batch: Batch,
        far_end: Provider,
        *,
        worker: str = "worker-1",
        capacity: int = 4,
        ahead: int | None = None,
        lease: Lease | None = None,
        heartbeat: float = 5.0,
        dsn: str | None = None,
        repeats: Repeats | None = None,
        flying: Flying | None = None,
    ) -> Session:
        """A worker's session over a claimed batch: everything is the worker's own, but the far end."""
        world = self.world
        settings = WorkerSettings(world.worker_dsn, NAMESPACE, self.stored.send_key, worker, Path("/nowhere"))
        built = WorkerCampaign(self.stored, settings, world.link(), Redactor())
        await built.refresh(world.hands)
        plan = built.plans[batch.channel or ""]
        await built.aclose()
        repeated = repeats or replace(self.repeats, key_window=far_end.key_window)
        rules = Rules(Backoff(0.0, 1.0, 0.0, repeated.max_attempts), repeated)
        terms = replace(plan.terms, repeats=repeated)
        if ahead is None:
            ahead = rows_ahead(capacity, repeated.key_window, plan.lease, paced=plan.pacer.paced)
        bundle = bundle_size(far_end, capacity)
        plan = replace(plan, provider=far_end, capacity=capacity, ahead=ahead, bundle=bundle, rules=rules, terms=terms)
        metrics = WorkerMetrics(CollectorRegistry())
        alarms = StoreAlarms(world.link(), self.id)
        around = Surroundings(
            world.link(dsn),
            self.holder(worker),
            metrics,
            alarms,
            heartbeat,
            random.Random(1),
            flying or Flying(capacity),
            asyncio.Event(),
        )
        return Session(around, batch, plan, lease or Lease(60.0, 1.0, Moment.now()))


class World:
    """A fresh database with what is in it."""

    def __init__(self, dsn: str, conn: Connection, worker_dsn: str, hands: Connection) -> None:
        self.dsn = dsn
        self.conn = conn
        self.worker_dsn = worker_dsn
        self.hands = hands
        self._connections: list[Connection] = [conn, hands]
        self._links: list[Link] = []

    async def connect(self, dsn: str | None = None) -> Connection:
        """Another connection, of the owner or by a DSN."""
        conn = await connect(dsn or self.dsn, application_name="test")
        self._connections.append(conn)
        return conn

    def link(self, dsn: str | None = None) -> Link:
        link = Link(dsn or self.worker_dsn, "test link")
        self._links.append(link)
        return link

    async def aclose(self) -> None:
        for link in self._links:
            await link.close()
        for connection in self._connections:
            await connection.close()

    def person(self, line: int, addresses: Mapping[str, str] | None = None, **more: Any) -> Recipient:
        given = {"Email": f"user{line}@example.com"} if addresses is None else addresses
        known = {"ref": None, "timezone": None, "locale": None, "variables": {"name": f"Name {line}"}}
        return Recipient(line, addresses={c: Address(a, a.lower()) for c, a in given.items()}, **{**known, **more})

    async def provider(self, name: str = "far-end", **spec: Any) -> int:
        document = {
            "apiVersion": "sendonce.dev/v1alpha1",
            "kind": "NotificationProvider",
            "metadata": {"name": name},
            "spec": spec if "type" in spec else {"type": "HTTP", "http": _HTTP, **spec},
        }
        resource = load_documents(json.dumps(document), "provider.json")[0].resource
        assert isinstance(resource, NotificationProvider)
        return await campaigns.sync_provider(self.conn, resource)

    async def adopt(
        self, name: str = "spring", channels: Sequence[str] = ("Email",), **spec: Any
    ) -> campaigns.Adoption:
        """Put a campaign into the store. A second channel falls back from the first if the first is written 'A>B'."""
        messages = [self._message(channel) for channel in channels]
        document = {
            "apiVersion": "sendonce.dev/v1alpha1",
            "kind": "NotificationCampaign",
            "metadata": {"name": name},
            "spec": {
                "category": "Marketing",
                "recipients": {"configMapKeyRef": {"name": "people", "key": "people.csv"}, "format": "CSV"},
                "messages": messages,
                **spec,
            },
        }
        resource = load_documents(json.dumps(document), "campaign.json")[0].resource
        assert isinstance(resource, NotificationCampaign)
        assert isinstance(resource.spec, CampaignSpec)
        return await campaigns.adopt(self.conn, resource, resource.spec)

    def _message(self, channel: str) -> dict[str, Any]:
        """`SMS`: a channel of its own; `Email>SMS`: SMS for whom Email did not reach; `@Expired`: only by that end."""
        way, _, only = channel.partition("@")
        first, fallback, second = way.partition(">")
        name = second if fallback else first
        message = {
            "channel": name,
            "providerRef": {"name": "far-end"},
            "template": dict(_TEMPLATES.get(name, _OTHER_TEMPLATE)),
        }
        outcomes = [only] if only else ["Failed", "NoAddress", "Suppressed", "Expired"]
        return message | ({"after": {"channel": first, "outcomes": outcomes}} if fallback else {})

    async def campaign(
        self,
        people: int | Sequence[Recipient] | None = 3,
        *,
        name: str = "spring",
        provider: Mapping[str, Any] | None = None,
        **wishes: Any,
    ) -> Campaign:
        """A campaign whose people have been imported; None: whose import is still to come."""
        await self.provider(**(provider or {}))
        await self.adopt(name, **wishes)
        stored = await campaigns.read(self.conn, NAMESPACE, name)
        assert stored is not None
        campaign = Campaign(self, stored)
        if people is not None:
            await campaign.imports(
                [self.person(line) for line in range(1, people + 1)] if isinstance(people, int) else people
            )
        return campaign

    async def eventually(self, question: Callable[[], object]) -> None:
        """Ask until the answer, which may have to be awaited, is yes."""
        async with asyncio.timeout(60):
            while True:
                answer = question()
                if await answer if isawaitable(answer) else answer:
                    return
                await asyncio.sleep(0.01)

    async def blocked(self) -> None:
        """Wait until a statement in this database waits for a lock."""
        watcher = await self.connect()

        async def waiting() -> bool:
            cursor = await watcher.execute(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            return await cursor.fetchone() is not None

        await self.eventually(waiting)


@pytest_asyncio.fixture
async def worker_dsn(dsn: str) -> str:
    """Return the DSN of the namespace's login in the fresh database."""
    owner = await connect(dsn)
    login = await tenancy.add(owner, NAMESPACE)
    await owner.close()
    return make_conninfo(dsn, user=login.role, password=login.password)


@pytest_asyncio.fixture
async def world(dsn: str, worker_dsn: str) -> AsyncIterator[World]:
    """Yield a fresh database with connections to it."""
    owner, hands = await connect(dsn, application_name="test"), await connect(worker_dsn, application_name="test")
    world = World(dsn, owner, worker_dsn, hands)
    yield world
    await world.aclose()


@pytest_asyncio.fixture
async def far_end() -> FarEnd:
    """Return a far end that accepts everything and remembers keys for a day."""
    return FarEnd()
