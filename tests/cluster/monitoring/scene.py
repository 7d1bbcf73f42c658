"""Campaigns that go wrong, each in its own way, on a real API server, with a real Prometheus that scrapes it all.

Every campaign has a provider and a far end of its own, all three of one name. Workers are processes.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from tests.cluster.monitoring.prometheus import Prometheus
from tests.cluster.operator.cast import OperatorProcess, Pods, free_port
from tests.cluster.operator.stage import SLOW, Object, Stage, campaign, provider, sent

from sendonce_cli.simulate import Behaviour, Chances, Simulator, SimulatorSettings, serve
from sendonce_console.app import build_app
from sendonce_console.main import in_a_cluster
from sendonce_console.ops import console_ops
from sendonce_console.settings import ConsoleSettings
from sendonce_store.serving import listening

MANY = 400
# a campaign that the next look finds where it was: it must not end while it is looked at
PATIENT = {"maxAttempts": 50, "initialDelaySeconds": 1, "factor": 1, "maxDelaySeconds": 1}
# workers start all at once
PATIENCE = 200.0
ONE_WORKER = {"max": 1, "concurrency": 2}
CONTINUE = {"maxFailedPercent": 100, "action": "Continue"}


class WatchedPods(Pods):
    """Workers that Prometheus scrapes."""

    watch: Callable[[str], None] = staticmethod(lambda _: None)

    def health_port(self) -> str:
        port = str(free_port())
        self.watch(f"127.0.0.1:{port}")
        return port


@dataclass(frozen=True)
class Role:
    """A campaign and how its far end behaves; `provider` and `campaign` are what differs from the usual."""

    name: str
    behaviour: Behaviour = field(default_factory=Behaviour)
    provider: Mapping[str, Any] = field(default_factory=dict)
    campaign: Mapping[str, Any] = field(default_factory=dict)
    count: int = 50


# more people than may stand in a document; and so many that even a first look finds their end far away
LISTS = {"readers.csv": MANY, "crowd.csv": 10 * MANY}


def readers(key: str = "readers.csv") -> dict[str, Any]:
    """One of the lists."""
    return {"configMapKeyRef": {"name": "readers", "key": key}, "format": "CSV"}


def rows(count: int) -> str:
    """So many people."""
    return "id,email\n" + "".join(f"p{no},p{no}@example.com\n" for no in range(count))


def soon() -> dict[str, str]:
    """A deadline that the slow one does not meet."""
    return {"deadline": (datetime.now(UTC) + timedelta(minutes=10)).isoformat(timespec="seconds")}


def roles() -> tuple[Role, ...]:
    """Everybody."""
    return (
        # sends for five minutes, and so is in the middle of it when it is frozen, however late that is seen
        Role(
            "frozen",
            Behaviour(latency=1.5),
            {"timeoutSeconds": 3},
            # what is in flight while it is frozen is tried again soon
            {"recipients": readers(), "workers": ONE_WORKER, "retry": PATIENT},
            count=MANY,
        ),
        Role(
            "hanging",
            Behaviour(chances=Chances(hang=1.0), hang_seconds=3.0),
            {"timeoutSeconds": 1, "limits": [{"messages": 100, "periodSeconds": 1}]},
            {"workers": ONE_WORKER, "retry": PATIENT},
        ),
        Role(
            "secretless",
            provider={"credentialsSecretRef": {"name": "keys"}, "limits": SLOW},
        ),
        Role("throttled", Behaviour(chances=Chances(throttle=1.0), retry_after=3.0), campaign={"retry": PATIENT}),
        # half of the addresses are refused, and of the others nobody learns what became of them
        Role(
            "doomed",
            Behaviour(chances=Chances(permanent=0.5, lost=1.0)),
            {"http": {"idempotencyKeyHeader": None}},
            {"recipients": readers(), "failurePolicy": CONTINUE},
            count=MANY,
        ),
        # one message in two seconds, where its provider allows a hundred in one
        Role(
            "slow",
            Behaviour(latency=2.0),
            {"limits": [{"messages": 100, "periodSeconds": 1}]},
            {"recipients": readers("crowd.csv"), "workers": {"max": 1, "concurrency": 1}, "schedule": soon()},
            count=MANY,
        ),
    )


@dataclass
class Scene:
    """The stage with everybody on it."""

    stage: Stage
    prometheus: Prometheus
    operator: OperatorProcess
    simulators: Mapping[str, Simulator]

    def freeze(self, name: str) -> None:
        """Stop a campaign's workers in the middle of what they do."""
        assert self.stage.pods.signal(f"sendonce-{name}", signal.SIGSTOP), f"{name} has no worker to freeze"

    def thaw(self, name: str) -> None:
        """Let them go on."""
        self.stage.pods.signal(f"sendonce-{name}", signal.SIGCONT)

    async def until_sent(self, name: str, count: int = 1) -> None:
        """Wait until a campaign has sent so many."""
        await self.stage.until(name, lambda found: sent(found) >= count, f"{count} sent", seconds=PATIENCE)


def without_none(value: Any) -> Any:
    """A document without the fields that a role takes away."""
    if isinstance(value, dict):
        return {key: without_none(one) for key, one in value.items() if one is not None}
    return value


def documents(role: Role, simulator: Simulator) -> tuple[Object, Object]:
    """Provider and campaign of a role."""
    changes = dict(role.provider)
    usual = provider(simulator, role.name)
    if "http" in changes:
        http = {**usual["spec"]["http"], **changes.pop("http")}
        # without a header there is no window either
        changes["http"] = {**http, "keyWindowSeconds": None}
    made = provider(simulator, role.name, **changes)
    template = {"from": "news@example.com", "subject": "Hello", "text": "Hello"}
    messages = [{"channel": "Email", "providerRef": {"name": role.name}, "template": template}]
    return without_none(made), campaign(
        role.name, **{"count": min(role.count, 50), "messages": messages, **role.campaign}
    )


async def far_ends(stack: AsyncExitStack, folder: Path, cast: tuple[Role, ...]) -> dict[str, Simulator]:
    """Start a far end for each."""
    found = {}
    for role in cast:
        settings = SimulatorSettings(ledger=folder / f"far-end-{role.name}.ndjson", behaviour=role.behaviour)
        found[role.name] = await stack.enter_async_context(serve(settings))
    return found


async def visited_console(stack: AsyncExitStack, kubeconfig: Path, dsn: str) -> str:
    """Serve a console that somebody has looked at; gives the address of its metrics."""
    console = in_a_cluster(ConsoleSettings(dsn=dsn, key=b"k" * 32, kubeconfig=kubeconfig))
    apps = (build_app(console), console_ops(console))
    people, ops = [await listening(stack, web.AppRunner(app, access_log=None), "127.0.0.1", 0) for app in apps]
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{people[1]}/sign-in") as shown:
        assert shown.status == 200
    return f"127.0.0.1:{ops[1]}"


async def begin(
    stage: Stage, prometheus: Prometheus, simulators: Mapping[str, Simulator], cast: tuple[Role, ...]
) -> Scene:
    """Bring everybody on, and have those go wrong that need a hand for it."""
    stage.write_file("secrets/keys/token", "secret")
    people = {key: rows(count) for key, count in LISTS.items()}
    for key, text in people.items():
        stage.write_file(f"configmaps/readers/{key}", text)
    port = free_port()
    prometheus.add(f"127.0.0.1:{port}")
    operator = await stage.operate(SENDONCE_METRICS_PORT=str(port), SENDONCE_RESYNC_SECONDS="1")
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "readers"}, "data": people}
    made = [one for role in cast for one in documents(role, simulators[role.name])]
    await stage.apply(config_map, *made)
    await stage.until_condition("slow", "Accepted", "True")
    await stage.apply(conflicting(made[-1]))
    scene = Scene(stage, prometheus, operator, simulators)
    await scene.until_sent("frozen")
    scene.freeze("frozen")
    await scene.until_sent("secretless")
    (stage.pods.files / "secrets" / "keys" / "token").unlink()
    return scene


def conflicting(other: Object) -> Object:
    """A campaign that can't be accepted: its send key belongs to another one, which lives."""
    return campaign("refused", sendKey=other["metadata"]["name"], messages=other["spec"]["messages"])
