"""One test's namespace on a real API server, with documents, an operator, workers and a far end.

In: what a test wishes. Out: objects as the API server has them, waited for.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.operator.cast import PROGRAM, OperatorProcess, Pods
from tests.cluster.reach import Cluster as TestCluster

from sendonce_cli.simulate import Simulator
from sendonce_cli.simulate.ledger import Ledger
from sendonce_operator.cluster import Cluster, ClusterError
from sendonce_operator.paths import Key

Object = dict[str, Any]
API_VERSION = "sendonce.dev/v1alpha1"
PATIENCE = 60.0
# five at once, and then one in ten seconds: a campaign of so many is in its middle for as long as seven waits
SLOW = [{"messages": 1, "periodSeconds": 10, "burst": 10}]
MANY = 50
# the same by a far end that takes two seconds for each: for as long as one wait, with whoever is away
ONE_AT_A_TIME = {"max": 1, "concurrency": 1}
SLUGGISH = {"latency": 2.0}


def people(count: int) -> list[Object]:
    return [{"id": f"p{no}", "email": f"p{no}@example.com", "variables": {"name": f"P {no}"}} for no in range(count)]


def campaign(name: str, *, count: int = 3, **spec: Any) -> Object:
    """A campaign to some people over the provider `api`."""
    template = {"from": "news@example.com", "subject": "Hello {{ name }}", "text": "Hello {{ name }}"}
    content = {
        "category": "Transactional",
        "recipients": {"inline": people(count)},
        "messages": [{"channel": "Email", "providerRef": {"name": "api"}, "template": template}],
    }
    metadata = {"name": name}
    return {
        "apiVersion": API_VERSION,
        "kind": "NotificationCampaign",
        "metadata": metadata,
        "spec": {**content, **spec},
    }


def provider(simulator: Simulator, name: str = "api", **spec: Any) -> Object:
    http = {
        "url": f"http://127.0.0.1:{simulator.http_port}/send",
        "idempotencyKeyHeader": "Idempotency-Key",
        "keyWindowSeconds": 86_400,
    }
    body = {"type": "HTTP", "http": http, "timeoutSeconds": 5, **spec}
    return {"apiVersion": API_VERSION, "kind": "NotificationProvider", "metadata": {"name": name}, "spec": body}


def action(name: str, of: str, kind: str, **spec: Any) -> Object:
    body = {"campaignRef": {"name": of}, "type": kind, **spec}
    return {"apiVersion": API_VERSION, "kind": "NotificationAction", "metadata": {"name": name}, "spec": body}


def condition(found: Object | None, kind: str) -> tuple[str, str]:
    """Status and reason of a condition; empty where there is none."""
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return next(((one["status"], one["reason"]) for one in conditions if one["type"] == kind), ("", ""))


def sent(found: Object | None) -> int:
    """How many a campaign's status says are sent."""
    counts = ((found or {}).get("status") or {}).get("deliveries")
    return int(counts["sent"]) if counts else 0


@dataclass
class Stage:
    """Everything that one test has."""

    cluster: TestCluster
    api: Cluster
    namespace: str
    dsn: str
    folder: Path
    simulator: Simulator
    pods: Pods
    operators: list[OperatorProcess] = field(default_factory=list)

    # --- the operator ------------------------------------------------------------------------------------------------
    async def operate(self, *, program: Sequence[str] = PROGRAM, **environment: str) -> OperatorProcess:
        """Start an operator."""
        log = self.folder / f"operator-{len(self.operators)}.log"
        dsn = environment.pop("SENDONCE_DSN", self.dsn)
        operator = OperatorProcess(self.cluster.kubeconfig, dsn, log, environment, program=program)
        self.operators.append(operator)
        await operator.start()
        return operator

    async def aclose(self) -> None:
        await self.pods.aclose()
        for operator in self.operators:
            await operator.kill()

    def write_file(self, path: str, text: str) -> None:
        """Give workers a file, as a ConfigMap or Secret that is mounted."""
        target = self.pods.files / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")

    # --- objects -----------------------------------------------------------------------------------------------------
    async def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        return await asyncio.to_thread(self.cluster.kubectl, "-n", self.namespace, *arguments, stdin=stdin, check=check)

    async def apply(self, *documents: Mapping[str, Any]) -> None:
        """As `kubectl apply -f -`."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        await self.kubectl("apply", "-f-", stdin=json.dumps(listed))

    def key(self, kind: str, name: str) -> Key:
        return Key(kind, "" if kind.startswith("Cluster") else self.namespace, name)

    async def get(self, name: str, kind: str = "NotificationCampaign") -> Object | None:
        return await self.api.find(self.key(kind, name).path)

    async def _look(self, name: str, kind: str) -> Object | None:
        """The object; none while the API server is away."""
        try:
            return await self.get(name, kind)
        except ClusterError as error:
            if error.passes:
                return None
            raise

    async def is_served(self) -> bool:
        """Whether the API server is ready."""
        try:
            await self.api.get("/api/v1/namespaces/default")
        except ClusterError:
            return False
        return True

    async def patch(self, name: str, spec: Mapping[str, Any], kind: str = "NotificationCampaign") -> Object:
        """Change some of a spec, as `kubectl patch` does."""
        return await self.api.patch(self.key(kind, name).path, {"spec": dict(spec)})

    async def deployment(self, name: str) -> Object | None:
        return await self.api.find(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/sendonce-{name}")

    async def events(self) -> list[tuple[str, str]]:
        """Type and reason of every Event in the namespace."""
        found = await self.api.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        return [(one["type"], one["reason"]) for one in found["items"] if one["regarding"]["kind"].startswith("Notif")]

    async def until_events(self, *reasons: str) -> None:
        """Wait until there are Events with these reasons: they are written after the status."""

        async def told() -> bool:
            return {reason for _, reason in await self.events()} >= set(reasons)

        await self.until_true(told, f"Events {', '.join(reasons)}")

    # --- waiting -----------------------------------------------------------------------------------------------------
    async def until(
        self,
        name: str,
        happened: Callable[[Object | None], bool],
        what: str,
        *,
        kind: str = "NotificationCampaign",
        seconds: float = PATIENCE,
    ) -> Object | None:
        """Wait for an object to be as it should; the failure shows how it is instead, and what the operator said."""
        found: Object | None = None
        try:
            async with asyncio.timeout(seconds):
                while True:
                    found = await self._look(name, kind)
                    if happened(found):
                        return found
                    await asyncio.sleep(0.1)
        except TimeoutError:
            going = (found or {}).get("metadata", {}).get("deletionTimestamp")
            status = json.dumps((found or {}).get("status"), indent=1) + f", deleted at {going}"
            words = "\n".join(operator.words[-4000:] for operator in self.operators)
            message = f"{kind} {name}: {what}: not within {seconds:.0f} s; status {status}\n{words}"
            raise AssertionError(message) from None

    async def until_condition(
        self, name: str, kind: str, status: str, reason: str | None = None, *, of: str = "NotificationCampaign"
    ) -> Object:
        """Wait for a condition that speaks of the spec as it is now."""

        def holds(found: Object | None) -> bool:
            if found is None or found.get("status", {}).get("observedGeneration") != found["metadata"]["generation"]:
                return False
            has = condition(found, kind)
            return has[0] == status and reason in {None, has[1]}

        found = await self.until(name, holds, f"{kind}={status}/{reason or '*'}", kind=of)
        assert found is not None
        return found

    async def until_complete(self, name: str) -> Object:
        return await self.until_condition(name, "Complete", "True")

    async def until_gone(self, name: str, kind: str = "NotificationCampaign") -> None:
        await self.until(name, lambda found: found is None, "gone", kind=kind)

    async def until_true(self, ask: Callable[[], Awaitable[bool]], what: str, seconds: float = PATIENCE) -> None:
        """Wait for something to be so."""
        end = asyncio.get_running_loop().time() + seconds
        while not await ask():
            assert asyncio.get_running_loop().time() < end, f"{what}: not within {seconds:.0f} s"
            await asyncio.sleep(0.1)

    async def until_received(self, count: int) -> None:
        """Wait for the far end to have got so many, which it knows at once."""

        async def have() -> bool:
            return self.received().total() >= count

        await self.until_true(have, f"{count} are sent")

    async def replicas(self, name: str) -> int | None:
        """How many workers a campaign is to have; None without a Deployment."""
        found = await self.deployment(name)
        return None if found is None else int(found["spec"]["replicas"])

    async def until_replicas(self, name: str, count: int | None) -> None:
        """Wait for a campaign's Deployment to have so many."""

        async def has() -> bool:
            return await self.replicas(name) == count

        await self.until_true(has, f"sendonce-{name} has {count} replicas")

    # --- the far end -------------------------------------------------------------------------------------------------
    async def far_end(self, **chances: float) -> None:
        """Have it fail from now on with these chances; without any, it works."""
        await self.simulator.control({"reset": True, "chances": chances})

    async def hurry(self, **spec: Any) -> None:
        """Let the rest of a slow campaign go at once."""
        await self.apply(provider(self.simulator, **spec))

    def received(self) -> Counter[str]:
        """How many messages each address got."""
        accepted = Ledger.read(self.simulator.settings.ledger).accepted()
        return Counter({to: count for (to, _, _), count in accepted.items()})

    def assert_each_got_one(self, count: int) -> None:
        assert self.received() == Counter({f"p{no}@example.com": 1 for no in range(count)})
