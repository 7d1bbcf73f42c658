"""A campaign as `make bench` sends it: documents, a mounted file with recipients, and worker processes.

In: a database, a far end, a number of recipients. Out: the campaign, imported; then what the workers did with it, in
the database's own times.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.processes import cpu_seconds, module, running

from sendonce_store import campaigns
from sendonce_store.connection import Connection, connect
from sendonce_store.spec import CampaignSpec, NotificationCampaign, NotificationProvider, load_documents

CONCURRENCY = 50
SEND_KEY = "bench"
_POLL = 0.1

HTTP = """
  type: HTTP
  http:
    url: http://127.0.0.1:{port}/send
    idempotencyKeyHeader: Idempotency-Key
    keyWindowSeconds: 86400
    messageIdPath: id
"""
SMTP = """
  type: SMTP
  smtp: {{host: 127.0.0.1, port: {port}, tls: None}}
"""
_DOCUMENTS = """
apiVersion: sendonce.dev/v1alpha1
kind: NotificationProvider
metadata: {{name: far-end}}
spec:{provider}{limits}
---
apiVersion: sendonce.dev/v1alpha1
kind: NotificationCampaign
metadata: {{name: bench}}
spec:
  category: Marketing
  recipients: {{configMapKeyRef: {{name: people, key: people.csv}}, format: {format}}}
  schedule: {{startAt: "2100-01-01T00:00:00Z"}}
  messages:
  - channel: Email
    providerRef: {{name: far-end}}
    template: {template}
"""
_SHORT = {
    "from": "a@example.com",
    "subject": "Hello {{ name }}",
    "text": "Hello {{ name }}, your order {{ order }} has left our warehouse.",
}


@dataclass(frozen=True, slots=True)
class FarEnd:
    """Where a campaign goes to: `provider` is a block of YAML with a place for the port; and what it says.

    With `variables` each recipient has these, beside the two that are everybody's own. `database` is where its imported
    campaign is kept. `secrets` are those of the Secret `api`; `in_flight`: messages of one worker.
    """

    provider: str
    port: int
    limits: str = ""
    template: Mapping[str, Any] = field(default_factory=lambda: _SHORT)
    variables: Mapping[str, Any] = field(default_factory=dict)
    database: str = "bench_imported"
    secrets: Mapping[str, str] = field(default_factory=dict)
    in_flight: int = CONCURRENCY

    def documents(self) -> str:
        """The provider and the campaign."""
        return _DOCUMENTS.format(
            provider=self.provider.format(port=self.port),
            limits=self.limits,
            format="NDJSON" if self.variables else "CSV",
            template=json.dumps(self.template),
        )


@dataclass(frozen=True, slots=True)
class Sent:
    """What a run did: the seconds from the first attempt to the last result, CPU seconds of the workers."""

    deliveries: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        """Deliveries per second."""
        return self.deliveries / self.seconds


def write_people(files: Path, count: int, variables: Mapping[str, Any] | None = None) -> None:
    """A mounted ConfigMap with `count` recipients: an email, two variables each, and those that all of them have."""
    folder = files / "configmaps" / "people"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "people.csv").open("w", encoding="utf-8") as file:
        if variables:
            file.writelines(json.dumps({**variables, **_own(no)}) + "\n" for no in range(count))
            return
        file.write("email,name,order\n")
        file.writelines(f"user{no}@example.com,Name {no},{10_000_000 + no}\n" for no in range(count))


def _own(no: int) -> dict[str, Any]:
    return {"email": f"user{no}@example.com", "name": f"Zoë {no}", "id": f"customer-{no}"}


def write_secrets(files: Path, secrets: Mapping[str, str]) -> None:
    """A mounted Secret."""
    folder = files / "secrets" / "api"
    folder.mkdir(parents=True, exist_ok=True)
    for key, value in secrets.items():
        (folder / key).write_text(value, "utf-8")


def environment(dsn: str, files: Path, **more: str) -> dict[str, str]:
    """The settings of a worker."""
    return {
        "SENDONCE_DSN": dsn,
        "SENDONCE_NAMESPACE": "default",
        "SENDONCE_SEND_KEY": SEND_KEY,
        "SENDONCE_FILES": str(files),
        "SENDONCE_HEALTH_PORT": "",
        "SENDONCE_LOG_FORMAT": "plain",
        "SENDONCE_LOG_LEVEL": "WARNING",
        "SENDONCE_CONCURRENCY": str(CONCURRENCY),
        **more,
    }


@asynccontextmanager
async def workers(count: int, env: Mapping[str, str]) -> AsyncIterator[list[Process]]:
    """Worker processes for the time of a block."""
    async with AsyncExitStack() as stack:
        command = module("sendonce_worker")
        yield [await stack.enter_async_context(running(*command, env=env)) for _ in range(count)]


async def adopt(conn: Connection, far_end: FarEnd) -> int:
    """Put the documents into the store; returns the campaign's id."""
    provider, campaign = [document.resource for document in load_documents(far_end.documents(), "bench.yaml")]
    if not isinstance(provider, NotificationProvider) or not isinstance(campaign, NotificationCampaign):
        raise TypeError("the documents are a provider and a campaign")
    if not isinstance(campaign.spec, CampaignSpec):
        raise TypeError("a campaign has a spec")
    await campaigns.sync_provider(conn, provider)
    return (await campaigns.adopt(conn, campaign, campaign.spec)).campaign_id


async def imported(conn: Connection, env: Mapping[str, str]) -> None:
    """Let one worker import the campaign, which does not begin to send yet."""
    async with workers(1, env):
        await until(conn, "SELECT import_state = 'done' FROM sendonce.campaigns")
    await conn.execute("VACUUM ANALYZE sendonce.deliveries")
    await conn.execute("VACUUM ANALYZE sendonce.recipients")


async def begin(conn: Connection) -> None:
    """From now on workers send."""
    await conn.execute("UPDATE sendonce.campaigns SET start_at = now()")


async def until(conn: Connection, question: str, *values: object) -> None:
    """Ask until the answer is yes."""
    while not (await one(conn, question, *values))[0]:  # noqa: ASYNC110 - the answer comes from another process
        await asyncio.sleep(_POLL)


async def one(conn: Connection, query: str, *values: object) -> Sequence[Any]:
    """The values of a query's one row."""
    cursor = await conn.execute(query.encode(), values or None)
    row = await cursor.fetchone()
    return list(row.values()) if row else []


async def send_imported(conn: Connection, env: Mapping[str, str], count: int) -> Sent:
    """Send an imported campaign with `count` workers."""
    async with workers(count, env) as processes:
        await until(conn, "SELECT count(*) = %s FROM sendonce.workers WHERE stopped_at IS NULL", count)
        before = [cpu_seconds(process.pid) for process in processes]
        await begin(conn)
        await until(conn, "SELECT sum(pending + sending) = 0 FROM sendonce.batches")
        after = [cpu_seconds(process.pid) for process in processes]
    deliveries, seconds = await one(conn, SPAN)
    return Sent(deliveries, seconds, sum(after) - sum(before))


# Workers do not begin at the same moment: the clock runs from when the last of them has begun.
SPAN = """
WITH began AS (SELECT max(first) AS at FROM (
       SELECT min(last_attempt_at) AS first FROM sendonce.deliveries GROUP BY worker) of_each)
SELECT count(*) FILTER (WHERE state = 'sent'), extract(epoch FROM max(finished_at) - min(began.at))::float8
  FROM sendonce.deliveries, began WHERE last_attempt_at >= began.at
"""


@asynccontextmanager
async def connection(dsn: str) -> AsyncIterator[Connection]:
    """A connection of our own for the time of a block."""
    conn = await connect(dsn, application_name="sendonce-bench")
    await conn.execute("SET statement_timeout = 0")  # VACUUM of millions of rows takes its time
    try:
        yield conn
    finally:
        await conn.close()
