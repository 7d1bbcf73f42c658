"""Deployments and Pods are listed now and then: a watch that does not show what a list shows is dead."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry

from sendonce_operator.cluster import Object
from sendonce_operator.decisions.facts import Defaults
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.paths import CAMPAIGN_LABEL, DEPLOYMENT, POD, listing
from sendonce_operator.runtime import Runtime
from sendonce_operator.settings import OperatorSettings
from sendonce_operator.upkeep import resync_workers


def worker(name: str, version: int) -> Object:
    """A Pod or a Deployment of the campaign `spring`."""
    metadata = {"name": name, "namespace": "shop", "uid": name, "resourceVersion": str(version)}
    return {"metadata": {**metadata, "labels": {CAMPAIGN_LABEL: "spring"}}, "spec": {"replicas": 2}}


class Lists:
    """An API server that has lists, two objects a page."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Object]] = {listing(DEPLOYMENT): [], listing(POD): []}

    async def get(self, path: str, query: Mapping[str, str]) -> Object:
        assert query["labelSelector"] == CAMPAIGN_LABEL
        first = int(query.get("continue", "0"))
        rest = {"continue": str(first + 2)} if len(self.lists[path]) > first + 2 else {}
        return {"metadata": rest, "items": self.lists[path][first : first + 2]}


def operator(lists: Lists) -> Runtime:
    settings = OperatorSettings("postgresql:///none", "operator", Defaults("worker:1"))
    standing_in: Any = lists
    return Runtime(settings, standing_in, OperatorMetrics(CollectorRegistry()))


def age(runtime: Runtime) -> float:
    return runtime.canary.age(time.monotonic() + 100)


async def test_a_pod_on_any_page_that_the_watch_does_not_show_is_noticed() -> None:
    lists = Lists()
    runtime = operator(lists)
    lists.lists[listing(POD)] = [worker(f"spring-{no}", no) for no in range(1, 6)]
    for no in range(1, 5):
        runtime.canary.hear(POD, worker(f"spring-{no}", no), gone=False)
    await resync_workers(runtime)
    assert age(runtime) >= 100
    runtime.canary.hear(POD, worker("spring-5", 5), gone=False)
    assert age(runtime) == 0


async def test_a_deployment_that_the_watch_does_not_show_is_noticed_and_taken_in() -> None:
    lists = Lists()
    runtime = operator(lists)
    lists.lists[listing(DEPLOYMENT)] = [worker("spring", 7)]
    await resync_workers(runtime)
    assert age(runtime) >= 100
    assert [body["spec"]["replicas"] for body in runtime.watched.deployments.values()] == [2]
    lists.lists[listing(DEPLOYMENT)] = []
    await resync_workers(runtime)
    assert age(runtime) == 0, "one that is gone is waited for no longer"
