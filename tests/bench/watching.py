"""The console over a large store: how long its pages take for a campaign of a million, in a ledger of ten.

In: a server, how many deliveries the campaign and the whole ledger have. Out: a row for each page, the median of a
browser's requests on the loopback interface, and one for the slowest. The console reads through its own login, with
row-level security on.
"""

# ruff: noqa: E501 - statements read best in their own lines

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import psycopg
from aiohttp.test_utils import TestServer
from psycopg.conninfo import make_conninfo
from tests.bench import campaigns
from tests.bench.campaigns import FarEnd
from tests.bench.figures import Row, middle
from tests.bench.server import Server

from sendonce_console.access.local import LocalDoor
from sendonce_console.levers.local import LocalLevers
from sendonce_console.main import build_app, furnish
from sendonce_console.settings import ConsoleSettings
from sendonce_store import console_login

_DATABASE = "bench_console"
_CHUNK = 500_000
_BATCH = 500
_WARM_UP, _ROUNDS = 3, 25
_TOKEN = "of-the-benchmark"
_HERE = "/ns/default/campaigns/bench"


@dataclass(frozen=True, slots=True)
class Page:
    """What is asked for; `name` as in the rows."""

    name: str
    path: str


def pages(people: int) -> tuple[Page, ...]:
    """The pages, for somebody in the middle of the campaign."""
    who = people // 2
    return (
        Page("list", "/"),
        Page("campaign", _HERE),
        Page("not_sent", f"{_HERE}/deadletters"),
        Page("recipients", f"{_HERE}/recipients"),
        Page("recipients_failed", f"{_HERE}/recipients?state=failed"),
        Page("person", f"{_HERE}/recipients/line:{who}"),
        Page("search_address", f"/search?q=user{who}%40example.com"),
        Page("search_id", f"/search?q=customer-{who}"),
        Page("search_prefix", f"/search?q=user{who}"),
        Page("search_nobody", "/search?q=nobody%40example.com"),
        Page("providers", "/providers"),
        Page("api_campaign", "/api/v1/namespaces/default/campaigns/bench"),
    )


async def measure(server: Server, people: int, ledger: int) -> list[Row]:
    """Fill a store and look at it."""
    async with server.database(_DATABASE) as dsn:
        async with campaigns.connection(dsn) as conn:
            await campaigns.adopt(conn, FarEnd(campaigns.HTTP, 9))
        await _fill(dsn, people, ledger)
        async with campaigns.connection(dsn) as conn:
            login = await console_login.make(conn)
        async with _console(dsn, make_conninfo(dsn, user=login.role, password=login.password)) as ask:
            return await _rows(ask, people, ledger)


class _Ask:
    """A browser."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session, self._base = session, base

    async def seconds(self, page: Page) -> float:
        """How long the whole answer takes. RuntimeError for one that is no page."""
        began = time.perf_counter()
        async with self._session.get(self._base + page.path, allow_redirects=False) as answer:
            text = await answer.text()
            if answer.status not in {200, 303}:
                message = f"{page.path}: {answer.status} {text[:500]}"
                raise RuntimeError(message)
        return time.perf_counter() - began


@asynccontextmanager
async def _console(owner: str, dsn: str) -> AsyncIterator[_Ask]:
    settings = ConsoleSettings(dsn=dsn, key=b"k" * 32)
    served = TestServer(build_app(furnish(settings, LocalDoor(_TOKEN), LocalLevers(owner))))
    await served.start_server()
    headers = {"Authorization": f"Bearer {_TOKEN}", "Accept": "text/html"}
    async with aiohttp.ClientSession(headers=headers) as session:
        yield _Ask(session, str(served.make_url("")).rstrip("/"))
    await served.close()


async def _rows(ask: _Ask, people: int, ledger: int) -> list[Row]:
    found = []
    for page in pages(people):
        times = [await ask.seconds(page) for _ in range(_WARM_UP + _ROUNDS)][_WARM_UP:]
        print(f"  {page.name}: {middle(times) * 1000:.1f} ms, at most {max(times) * 1000:.1f}", flush=True)
        found.append(Row(f"console_{page.name}", middle(times) * 1000, "ms"))
    slowest = max(found, key=lambda row: row.value)
    what = f"{slowest.name.removeprefix('console_')}, {people:,} of {ledger:,}"
    return [Row("console_slowest_page", slowest.value, "ms", None, what), *found]


async def _fill(dsn: str, people: int, ledger: int) -> None:
    """The campaign with some of every state, and finished ones for the rest of the ledger."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        await conn.execute("SET synchronous_commit = off")
        await conn.execute("ALTER TABLE sendonce.deliveries DISABLE TRIGGER USER")
        await conn.execute(_CAMPAIGNS, {"past": max(0, ledger // people - 1)})
        cursor = await conn.execute("SELECT id FROM sendonce.campaigns ORDER BY id")
        for campaign, *_ in await cursor.fetchall():
            for start in range(0, people, _CHUNK):
                span = {"campaign": campaign, "first": start, "last": min(start + _CHUNK, people) - 1, "size": _BATCH}
                for statement in (_BATCHES, _RECIPIENTS, _DELIVERIES, _ATTEMPTS):
                    await conn.execute(statement, span)
            print(f"  campaign {campaign}: {people:,} rows", end="\r", flush=True)
        await conn.execute("ALTER TABLE sendonce.deliveries ENABLE TRIGGER USER")
        await conn.execute(_COUNTERS)
        await conn.execute(_WORKERS)
        await conn.execute("VACUUM ANALYZE")


# copies of the one that was adopted, all finished
_CAMPAIGNS = """
WITH made AS (
  INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category, started_at, import_state,
                                  created_at, total, ended, ended_reason, ended_message, completed_at)
  SELECT c.namespace, 'past-' || n, 'past-' || n, c.content_hash, c.spec, c.category, now() - interval '2 days', 'done',
         now() - interval '3 days', 1000000, 'complete', 'SomeUndelivered', 'all deliveries have ended', now()
    FROM sendonce.campaigns c, generate_series(1, %(past)s) n RETURNING id
), used AS (
  UPDATE sendonce.campaigns SET import_state = 'done', started_at = now() - interval '1 hour', start_at = NULL
)
INSERT INTO sendonce.channels (campaign_id, channel, namespace, no, provider_id)
SELECT m.id, 'Email', 'default', 0, p.id FROM made m, sendonce.providers p
"""
# ids by campaign; the adopted one has an import batch of its own
_BATCHES = """
INSERT INTO sendonce.batches (id, namespace, campaign_id, kind, channel, provider_id, state, claimable_at, leased_at,
                              heartbeat_at)
SELECT %(campaign)s * 100000 + n / %(size)s, 'default', %(campaign)s, 'send', 'Email', p.id, 'pending', now(),
       now() - interval '1 hour', now() - (n * interval '3 milliseconds')
  FROM generate_series(%(first)s::bigint, %(last)s::bigint, %(size)s) n, sendonce.providers p
"""
_RECIPIENTS = """
INSERT INTO sendonce.recipients (campaign_id, no, namespace, ref, addresses, variables)
SELECT %(campaign)s, n, 'default', 'customer-' || n,
       jsonb_build_object('Email', jsonb_build_array('user' || n || '@example.com', 'user' || n || '@example.com')),
       jsonb_build_object('name', 'Name ' || n, 'order', n)
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) n
"""
# of a thousand: 10 failed, 5 uncertain, 5 suppressed, and 20 that wait in the campaign that goes on
_DELIVERIES = """
INSERT INTO sendonce.deliveries (batch_id, no, campaign_id, recipient_no, key, first_attempt_at, last_attempt_at,
       next_attempt_at, finished_at, attempt_seq, maybe_accepted, namespace, channel, address, state, reason, code, error,
       message_id, worker, digest)
SELECT %(campaign)s * 100000 + n / %(size)s, n %% %(size)s + 1, %(campaign)s, n, gen_random_uuid(),
       now() - (n * interval '3 milliseconds'), now() - (n * interval '3 milliseconds'),
       CASE WHEN s.state = 'pending' THEN now() + interval '5 minutes' END,
       CASE WHEN s.state <> 'pending' THEN now() - (n * interval '3 milliseconds') END, 1, s.state = 'uncertain', 'default',
       'Email', 'user' || n || '@example.com', s.state,
       CASE s.state WHEN 'failed' THEN 'permanent' WHEN 'uncertain' THEN 'unknown_outcome' WHEN 'suppressed' THEN 'opted_out' END,
       CASE s.state WHEN 'failed' THEN '5.1.' || n %% 7 WHEN 'uncertain' THEN 'timeout' END,
       CASE s.state WHEN 'failed' THEN '550 5.1.' || n %% 7 || ' no such user' WHEN 'uncertain' THEN 'no answer' END,
       CASE s.state WHEN 'sent' THEN 'm-' || n END, 'bench-worker', decode(md5(n::text), 'hex')
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) n
 CROSS JOIN LATERAL (SELECT CASE WHEN n %% 1000 < 10 THEN 'failed' WHEN n %% 1000 < 15 THEN 'uncertain'
                                 WHEN n %% 1000 < 20 THEN 'suppressed'
                                 WHEN n %% 1000 < 40 AND %(campaign)s = 1 THEN 'pending' ELSE 'sent' END AS state) s
"""
_ATTEMPTS = """
INSERT INTO sendonce.attempts (namespace, campaign_id, batch_id, no, seq, worker, at, outcome, code, message)
SELECT 'default', %(campaign)s, %(campaign)s * 100000 + n / %(size)s, n %% %(size)s + 1, 1, 'bench-worker',
       now() - (n * interval '3 milliseconds'),
       CASE WHEN n %% 1000 < 10 THEN 'permanent' WHEN n %% 1000 < 15 THEN 'unknown' ELSE 'rate_limited' END,
       '5.1.' || n %% 7, 'the far end said so'
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) n
 WHERE n %% 1000 < 15 OR (n %% 1000 < 40 AND n %% 1000 >= 20)
"""
# what the triggers would have counted
_COUNTERS = """
UPDATE sendonce.batches b
   SET pending = n.pending, sent = n.sent, failed = n.failed, uncertain = n.uncertain, suppressed = n.suppressed,
       state = CASE WHEN n.pending = 0 THEN 'done' ELSE 'pending' END
  FROM (SELECT batch_id, count(*) FILTER (WHERE state = 'pending') AS pending, count(*) FILTER (WHERE state = 'sent') AS sent,
               count(*) FILTER (WHERE state = 'failed') AS failed, count(*) FILTER (WHERE state = 'uncertain') AS uncertain,
               count(*) FILTER (WHERE state = 'suppressed') AS suppressed
          FROM sendonce.deliveries GROUP BY batch_id) n
 WHERE b.id = n.batch_id
"""
_WORKERS = """
INSERT INTO sendonce.workers (id, namespace, campaign_id)
SELECT 'worker-' || n, 'default', 1 FROM generate_series(1, 10) n
"""
