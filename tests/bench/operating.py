"""The operator with many active campaigns, against a real API server: its memory, its pace, how old statuses get.

    control plane → operator → campaigns, accepted → rows as if all of them were being sent → every second each one, or
    each fourth, changes in the store, and a watch notes when each change is shown

In: a server and how many campaigns. Out: rows. Nobody is sent anything: only the counts in the store move.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import kubernetes.aio.client
import kubernetes.aio.config
import yaml
from tests.bench.figures import Row
from tests.bench.processes import ROOT, cpu_seconds, running
from tests.bench.server import Server
from tools.cluster.down import down
from tools.cluster.kubeconfig import path_for_people
from tools.cluster.up import up

from sendonce_operator.cluster import Cluster, open_cluster
from sendonce_operator.paths import API_VERSION
from sendonce_store.connection import Connection, connect

BASE = f"/apis/{API_VERSION}/namespaces/default"
DELIVERIES = 100_000
SIDE_BY_SIDE = 8
SHARE = 4  # of so many campaigns one is at work at a time; the others wait for their hour, a person, a provider
AFTER_SECONDS = 6.0  # the last changes are to be seen, too
MIB = 1 << 20
# as if each were imported and on its way: one batch with everything in it, which no worker claims
_UNDER_WAY = (
    "UPDATE sendonce.batches SET state = 'done'",
    "UPDATE sendonce.campaigns SET import_state = 'done', started_at = now(), total = %(deliveries)s",
    """
    INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, claimable_at, pending)
    SELECT 'default', c.id, 'send', 'Email', (SELECT min(id) FROM sendonce.providers), now() + interval '1 day',
           %(deliveries)s
      FROM sendonce.campaigns c""",
    "ANALYZE",
)
_CHANGE = """
    UPDATE sendonce.batches SET sent = %(sent)s, pending = %(pending)s
     WHERE kind = 'send' AND campaign_id %% %(each)s = 0"""


@dataclass(slots=True)
class Shown:
    """What the watch has seen. `changed`: change → when it stood in the store; times are the machine's."""

    changed: dict[int, float] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    ages: list[float] = field(default_factory=list)
    writes: int = 0

    def see(self, event: Mapping[str, Any], now: float) -> None:
        """A write: the oldest change that it shows for the first time has waited for longest."""
        found = event["object"]
        self.writes += event["type"] == "MODIFIED"  # a watch begins with what is there
        name, change = found["metadata"]["name"], (found.get("status") or {}).get("deliveries", {}).get("sent", 0)
        before = self.last.get(name, 0)
        waited = [when for no, when in self.changed.items() if before < no <= change]
        self.last[name] = change
        if waited:
            self.ages.append(now - min(waited))

    def waited(self, share: float) -> float:
        """How long, in seconds, this share of the changes waited at most until it was shown."""
        if not self.ages:
            raise RuntimeError("no change was shown: the operator wrote nothing, or the watch has seen nothing")
        return sorted(self.ages)[int(len(self.ages) * share)]

    def age(self, share: float, span: float) -> float:
        """How old a status is at most, in seconds, for this share of the time, `span`, over all campaigns that change.

        It is as old as the oldest change that it does not show: from 0 to each of `ages` at one second per second.
        """
        low, high = 0.0, max(self.ages)
        for _ in range(40):
            middle = (low + high) / 2
            older = sum(max(0.0, one - middle) for one in self.ages)
            low, high = (middle, high) if older > (1 - share) * span else (low, middle)
        return high


# --- what runs -------------------------------------------------------------------------------------------------------
@asynccontextmanager
async def control_plane(folder: Path) -> AsyncIterator[Path]:
    """A control plane with the CRDs for the time of a block; its kubeconfig."""
    state = folder / "cluster"
    await asyncio.to_thread(up, state, control_plane=True)
    try:
        kubeconfig = path_for_people(state)
        async with open_cluster(kubeconfig) as api:
            await _make_crds(api)
        yield kubeconfig
    finally:
        await asyncio.to_thread(down, state)


async def _make_crds(api: Cluster) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for file in sorted((ROOT / "crds").glob("*.yaml")):
        body = yaml.safe_load(file.read_text("utf-8"))
        await api.create(path, body)
        await _established(api, f"{path}/{body['metadata']['name']}")


async def _established(api: Cluster, path: str) -> None:
    for _ in range(300):
        conditions = ((await api.get(path)).get("status") or {}).get("conditions") or []
        if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            return
        await asyncio.sleep(0.2)
    raise RuntimeError(f"{path} is not established within a minute")


def operator_environment(kubeconfig: Path, dsn: str) -> dict[str, str]:
    """An operator with its own defaults."""
    off = {"SENDONCE_METRICS_PORT": "", "SENDONCE_HEALTH_PORT": "", "SENDONCE_LOG_LEVEL": "WARNING"}
    return {"KUBECONFIG": str(kubeconfig), "SENDONCE_DSN": dsn, "SENDONCE_WORKER_IMAGE": "none", **off}


# --- campaigns -------------------------------------------------------------------------------------------------------
def _provider() -> dict[str, Any]:
    http = {"url": "http://127.0.0.1:9/send", "idempotencyKeyHeader": "Idempotency-Key", "keyWindowSeconds": 86_400}
    spec = {"type": "HTTP", "http": http}
    return {"apiVersion": API_VERSION, "kind": "NotificationProvider", "metadata": {"name": "api"}, "spec": spec}


def _campaign(no: int) -> dict[str, Any]:
    template = {"from": "news@example.com", "subject": "Hello {{ name }}", "text": "Hello {{ name }}"}
    spec = {
        "category": "Transactional",
        "suspend": True,
        "recipients": {"inline": [{"id": "p", "email": "p@example.com"}]},
        "messages": [{"channel": "Email", "providerRef": {"name": "api"}, "template": template}],
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "NotificationCampaign",
        "metadata": {"name": f"c{no}"},
        "spec": spec,
    }


async def make_campaigns(api: Cluster, count: int) -> None:
    """Make them, a few at a time."""
    await api.create(f"{BASE}/notificationproviders", _provider())
    slots = asyncio.Semaphore(SIDE_BY_SIDE)

    async def make(no: int) -> None:
        async with slots:
            await api.create(f"{BASE}/notificationcampaigns", _campaign(no))

    await asyncio.gather(*(make(no) for no in range(count)))


async def until_all(api: Cluster, count: int, holds: Callable[[Mapping[str, Any]], bool]) -> None:
    """Wait until the statuses of so many campaigns say what they are to."""
    while True:
        found = (await api.get(f"{BASE}/notificationcampaigns"))["items"]
        if sum(holds(one.get("status") or {}) for one in found) >= count:
            return
        await asyncio.sleep(1)


def is_accepted(status: Mapping[str, Any]) -> bool:
    """Whether the campaign has its row and its first status."""
    return bool(status.get("conditions"))


def is_under_way(status: Mapping[str, Any]) -> bool:
    """Whether it says how many deliveries there are: what is measured begins after that wave."""
    return (status.get("deliveries") or {}).get("total") == DELIVERIES


async def under_way(conn: Connection) -> None:
    """Make rows as if all campaigns were being sent."""
    for statement in _UNDER_WAY:
        await conn.execute(statement.encode(), {"deliveries": DELIVERIES})


# --- the measurement -------------------------------------------------------------------------------------------------
async def change(conn: Connection, shown: Shown, seconds: float, each: int, already: int) -> None:
    """One more delivery has ended, every second, of one campaign in `each`."""
    begin = time.time()
    for step in range(1, round(seconds) + 1):
        sent = already + step
        counts = {"sent": sent, "pending": DELIVERIES - sent, "each": each}
        await conn.execute(_CHANGE, counts)
        shown.changed[sent] = time.time()
        await asyncio.sleep(max(0.0, begin + step - time.time()))


@asynccontextmanager
async def watching(kubeconfig: Path, shown: Shown) -> AsyncIterator[None]:
    """Note every write of a campaign for the time of a block."""
    configuration = type.__call__(kubernetes.aio.client.Configuration)
    await kubernetes.aio.config.load_kube_config(  # type: ignore[no-untyped-call]
        config_file=str(kubeconfig), client_configuration=configuration, persist_config=False
    )
    trust = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    trust.load_cert_chain(configuration.cert_file, configuration.key_file)
    connector = aiohttp.TCPConnector(ssl=trust)
    async with aiohttp.ClientSession(configuration.host, connector=connector, read_bufsize=4 * MIB) as session:
        task = asyncio.create_task(_watch(session, shown))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _watch(session: aiohttp.ClientSession, shown: Shown) -> None:
    endless = aiohttp.ClientTimeout(total=None)
    while True:
        async with session.get(f"{BASE}/notificationcampaigns?watch=1", timeout=endless) as answer:
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] == "ERROR":  # a cache of the API server that is behind: it asks to come again
                    break
                shown.see(event, time.time())
        await asyncio.sleep(0.1)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one scenario gave: seconds, writes per second, cores."""

    age: float
    writes: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Look:
    """A running operator, its store and its cluster."""

    conn: Connection
    kubeconfig: Path
    pid: int
    seconds: float
    count: int

    async def at(self, each: int, already: int) -> Figures:
        """Change one campaign in `each` every second for a while; so many deliveries had ended `already`."""
        shown, cpu = Shown(), cpu_seconds(self.pid)
        async with watching(self.kubeconfig, shown):
            await change(self.conn, shown, self.seconds, each, already)
            writes, cpu = shown.writes, cpu_seconds(self.pid) - cpu
            await asyncio.sleep(AFTER_SECONDS)
        age = shown.age(0.99, self.count / each * self.seconds)
        found = Figures(age, writes / self.seconds, cpu / self.seconds)
        print(
            f"  one of {each} changes each second: {found.writes:.0f} writes/s, {found.cpu:.2f} of a core; a status "
            f"is younger than {found.age:.2f} s for 99 % of the time; a change is shown within "
            f"{shown.waited(0.5):.2f} s (p50), {shown.waited(0.99):.2f} s (p99), {max(shown.ages):.2f} s (at most); "
            f"operator's peak {_peak(self.pid):.0f} MiB; load average {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        return found


async def measure(server: Server, folder: Path, count: int, seconds: float) -> list[Row]:
    """Watch an operator that looks after so many campaigns for a while."""
    async with (
        server.database("bench_operator") as dsn,
        control_plane(folder) as kubeconfig,
        await connect(dsn) as conn,
        open_cluster(kubeconfig) as api,
        running(sys.executable, "-P", "-m", "sendonce_operator", env=operator_environment(kubeconfig, dsn)) as operator,
    ):
        await make_campaigns(api, count)
        await until_all(api, count, is_accepted)
        await under_way(conn)
        await until_all(api, count, is_under_way)
        look = Look(conn, kubeconfig, operator.pid, seconds, count)
        some, every = await look.at(SHARE, 0), await look.at(1, round(seconds))
        most = _peak(operator.pid)
    return [
        Row("operator_memory_peak", most, "MiB"),
        Row("operator_status_age", some.age, "s"),
        Row("operator_writes", some.writes, "1/s", some.writes / count, "campaigns"),
        Row("operator_cpu", some.cpu, "cores"),
        Row("operator_all_status_age", every.age, "s"),
        Row("operator_all_writes", every.writes, "1/s", every.writes / count, "campaigns"),
        Row("operator_all_cpu", every.cpu, "cores"),
    ]


def _peak(pid: int) -> float:
    """The highest resident memory of a process so far, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / MIB
