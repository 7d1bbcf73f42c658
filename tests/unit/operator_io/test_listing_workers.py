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


async def test_a_deployment_whose_deletion_the_watch_missed_is_known_no_longer() -> None:
    lists = Lists()
    runtime = operator(lists)
    lists.lists[listing(DEPLOYMENT)] = [worker("spring", 7)]
    await resync_workers(runtime)
    lists.lists[listing(DEPLOYMENT)] = []
    runtime.touched.clear()
    await resync_workers(runtime)
    assert runtime.watched.deployments == {}, "it would never be made again"
    assert [key.name for key in runtime.touched] == ["spring"]


async def test_a_pod_whose_deletion_the_watch_missed_troubles_nobody() -> None:
    runtime = operator(Lists())
    runtime.watched.note_deployment(worker("spring", 1))
    waiting = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "m"}}}
    pod = {**worker("spring-1", 2), "status": {"containerStatuses": [waiting]}}
    pod["metadata"]["creationTimestamp"] = "2026-11-01T10:00:00Z"
    runtime.watched.note_pod(pod)
    (key,) = runtime.watched.deployments
    assert runtime.watched.workforce(key).trouble is not None
    lists: Any = runtime.cluster
    lists.lists[listing(DEPLOYMENT)] = [worker("spring", 1)]
    await resync_workers(runtime)
    assert runtime.watched.workforce(key).trouble is None


async def test_what_came_while_the_lists_were_read_is_not_taken_for_gone() -> None:
    lists = Lists()
    runtime = operator(lists)

    class Slow(Lists):
        async def get(self, path: str, query: Mapping[str, str]) -> Object:
            answer = await lists.get(path, query)
            if path == listing(DEPLOYMENT):
                runtime.watched.note_deployment(worker("spring", 9))
            return answer

    standing_in: Any = Slow()
    runtime.cluster = standing_in
    await resync_workers(runtime)
    assert [body["metadata"]["uid"] for body in runtime.watched.deployments.values()] == ["spring"]


async def test_what_is_gone_is_not_remembered_by_the_canary_either() -> None:
    lists = Lists()
    runtime = operator(lists)
    for no in range(3):
        runtime.canary.hear(POD, worker(f"spring-{no}", no + 1), gone=False)
    lists.lists[listing(POD)] = [worker("spring-2", 3)]
    await resync_workers(runtime)
    assert [key.name for key in runtime.canary.heard] == ["spring-2"]
