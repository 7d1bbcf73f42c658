"""One test's namespace `shop-…`: documents go in, worker Pods run in it, and the far end's ledger judges.

In: what a test wishes. Out: what kubectl shows, waited for.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.e2e.outside import FarEnd
from tests.cluster.reach import Cluster, kubectl_program
from tools.cluster.waiting import until

Object = dict[str, Any]
API_VERSION = "sendonce.dev/v1alpha1"
PATIENCE = 150.0


def readers(count: int) -> str:
    """A CSV of people."""
    return "id,email,name\n" + "".join(f"p{no},p{no}@example.com,P {no}\n" for no in range(count))


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def provider(name: str, **spec: Any) -> Object:
    return {"apiVersion": API_VERSION, "kind": "NotificationProvider", "metadata": {"name": name}, "spec": spec}


def keyed(far_end: FarEnd, timeout: int = 3, **spec: Any) -> Object:
    """The provider `api`: HTTP with idempotency keys."""
    url = f"http://{far_end.host}:{far_end.http}/send"
    http = {"url": url, "idempotencyKeyHeader": "Idempotency-Key", "keyWindowSeconds": 86_400}
    return provider("api", type="HTTP", http=http, timeoutSeconds=timeout, **spec)


def campaign(name: str, **spec: Any) -> Object:
    """A campaign over `api` to the people of the ConfigMap `readers`."""
    template = {"from": "news@example.com", "subject": "Hello {{ name }}", "text": "Hello {{ name }}"}
    content = {
        "category": "Transactional",
        "recipients": {"configMapKeyRef": {"name": "readers", "key": "readers.csv"}, "format": "CSV"},
        "messages": [{"channel": "Email", "providerRef": {"name": "api"}, "template": template}],
    }
    kind = "NotificationCampaign"
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": {**content, **spec}}


@dataclass(frozen=True)
class Pod:
    """A worker's Pod as it was last shown.

    `ended`: exit codes of its container, of now or before the last restart; `said`: its last words then; `why`: the
    reason that the cluster gives.
    """

    name: str
    uid: str
    container: str
    restarts: int
    ready: bool
    going: bool
    ended: tuple[int, ...]
    said: tuple[str, ...]
    why: tuple[str, ...]

    @classmethod
    def of(cls, shown: Object) -> Pod:
        """Read what the API server shows."""
        status = (shown["status"].get("containerStatuses") or [{}])[0]
        states = (status.get("state") or {}, status.get("lastState") or {})
        ends = [state["terminated"] for state in states if "terminated" in state]
        return cls(
            name=shown["metadata"]["name"],
            uid=shown["metadata"]["uid"],
            container=status.get("containerID", "").rpartition("/")[2],
            restarts=status.get("restartCount", 0),
            ready=status.get("ready", False),
            going="deletionTimestamp" in shown["metadata"],
            ended=tuple(end["exitCode"] for end in ends),
            said=tuple(end.get("message", "") for end in ends),
            why=tuple(end.get("reason", "") for end in ends),
        )


def documents(text: str) -> Iterator[Object]:
    """JSON documents that stand one after the other; an unfinished last one is left out."""
    decoder, rest = json.JSONDecoder(), text.lstrip()
    while rest:
        try:
            found, end = decoder.raw_decode(rest)
        except json.JSONDecodeError:
            return
        yield found
        rest = rest[end:].lstrip()


@dataclass(frozen=True)
class Shop:
    """A namespace with a login of the store, and its far end."""

    cluster: Cluster
    namespace: str
    far_end: FarEnd
    folder: Path

    # --- kubectl -----------------------------------------------------------------------------------------------------
    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        return self.cluster.kubectl("-n", self.namespace, *arguments, stdin=stdin, check=check)

    def apply(self, *objects: Object) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("apply", "--server-side", "-f-", stdin=json.dumps(listed))

    def get(self, kind: str, name: str) -> Object:
        """The object; empty if there is none."""
        found: Object = json.loads(self.kubectl("get", kind, name, "-o", "json", "--ignore-not-found") or "{}")
        return found

    def pods(self) -> list[Pod]:
        """Workers that are there."""
        found = json.loads(self.kubectl("get", "pods", "-l", "sendonce.dev/campaign", "-o", "json"))
        return [Pod.of(one) for one in found["items"]]

    def replicas(self, name: str) -> int | None:
        """How many workers a campaign is to have; None without a Deployment."""
        found = self.get("deployment", f"sendonce-{name}")
        return found["spec"]["replicas"] if found else None

    # --- waiting -----------------------------------------------------------------------------------------------------
    def until(self, happened: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        """Wait; the failure shows what there is instead."""
        try:
            until(happened, what, seconds=seconds)
        except Exception as error:
            raise AssertionError(f"{error}\n{self.shown()}") from error

    def shown(self) -> str:
        """What a person would look at."""
        looks = [
            ("get", "nc,np,deployments,pods", "-o", "wide"),
            ("get", "nc", "-o", "jsonpath={.items[*].status}"),
            ("get", "events"),
            ("logs", "-l", "sendonce.dev/campaign", "--tail=20"),
            ("-n", "sendonce-system", "logs", "deployment/sendonce-operator", "--tail=40"),
        ]
        return "\n".join(self.kubectl(*look, check=False) for look in looks)

    def until_received(self, count: int) -> None:
        """Wait until so many messages have arrived."""
        self.until(lambda: self.far_end.received() >= count, f"{count} messages have arrived")

    def until_complete(self, name: str) -> Object:
        """Wait for the end of a campaign, and return it."""
        self.until(lambda: self.condition(name, "Complete")[0] == "True", f"{name} is Complete")
        return self.get("nc", name)

    def condition(self, name: str, kind: str, of: str = "nc") -> tuple[str, str, str]:
        """Status, reason and message of a condition; empty where there is none."""
        conditions = self.get(of, name).get("status", {}).get("conditions", [])
        found = [(one["status"], one["reason"], one["message"]) for one in conditions if one["type"] == kind]
        return found[0] if found else ("", "", "")

    # --- what has been ------------------------------------------------------------------------------------------------
    @contextmanager
    def watching(self) -> Iterator[Callable[[], dict[str, Pod]]]:
        """Follow the workers' Pods; yields a function that gives each as it was last seen, the ones that went too."""
        shown = self.folder / "pods.json"
        command = [kubectl_program(), f"--context={self.cluster.context}", "-n", self.namespace, "get", "pods"]
        follow = ["-l", "sendonce.dev/campaign", "--watch", "-o", "json"]
        with (
            shown.open("wb") as target,
            subprocess.Popen([*command, *follow], env=self.cluster.environment(), stdout=target) as process,
        ):
            try:
                yield lambda: {pod.name: pod for pod in map(Pod.of, documents(shown.read_text("utf-8")))}
            finally:
                process.kill()

    def assert_each_got_one(self, count: int) -> None:
        """The far end's ledger: nobody was lost, nobody got it twice."""
        accepted = Counter({to: times for (to, _, _), times in self.far_end.ledger().accepted().items()})
        wanted = Counter({f"p{no}@example.com": 1 for no in range(count)})
        lost, twice = wanted - accepted, accepted - wanted
        assert not lost, f"{len(lost)} lost, {len(twice)} twice; {self.shown()}"
        assert not twice
