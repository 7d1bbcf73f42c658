"""What happens to Pods while a campaign is being sent; the far end's ledger says whether anybody noticed.

The provider honours keys, so that even a killed worker's messages in flight are handed off again: 0 lost, 0 twice.
"""

from __future__ import annotations

import json
import os
import signal

import pytest
from tests.cluster.e2e.shop import Pod, Shop, campaign, config_map, keyed, readers
from tools.cluster import cgroups, parts
from tools.cluster.addresses import NODE_NAME

PEOPLE = 2400
# 40 messages per second and worker: the far end takes 0.1 s for each, and the campaign has 4 in flight per worker
WORKERS = {"max": 3, "concurrency": 4, "terminationGracePeriodSeconds": 20}
NAME = "spring"
# A worker that drained ends with 0, as one does whose campaign is over.
DRAINED = (0,)


def until_ready(shop: Shop) -> None:
    shop.until(lambda: sum(pod.ready for pod in shop.pods()) == WORKERS["max"], "three workers are ready")


def begin(shop: Shop) -> list[Pod]:
    """Have three workers in the middle of a campaign; returns their Pods."""
    people = config_map("readers", **{"readers.csv": readers(PEOPLE)})
    shop.apply(keyed(shop.far_end), people, campaign(NAME, workers=WORKERS))
    until_ready(shop)
    shop.until_received(200)
    return shop.pods()


def end(shop: Shop) -> None:
    """Let the campaign end, and judge it."""
    deliveries = shop.until_complete(NAME)["status"]["deliveries"]
    shop.assert_each_got_one(PEOPLE)
    assert deliveries["sent"] == deliveries["total"] == PEOPLE


def assert_in_the_middle(shop: Shop) -> None:
    """What was done was done while there was something to send."""
    assert 0 < shop.far_end.received() < PEOPLE


def until_gone(shop: Shop, pods: list[Pod]) -> None:
    names = {pod.name for pod in pods}
    shop.until(lambda: not names & {pod.name for pod in shop.pods()}, f"{names} are gone")


def evict(shop: Shop, pod: Pod) -> None:
    """Ask for an eviction, as the autoscaler of nodes does."""
    metadata = {"name": pod.name, "namespace": shop.namespace}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    path = f"/api/v1/namespaces/{shop.namespace}/pods/{pod.name}/eviction"
    shop.kubectl("create", "--raw", path, "-f-", stdin=json.dumps(eviction))


def processes(shop: Shop, pod: Pod) -> list[int]:
    """Ids of a container's processes, as this machine sees them."""
    if shop.cluster.state is None:
        pytest.skip("processes of Pods are found on a node of the tests' own only")
    at = parts.known(shop.cluster.state).addresses
    assert at is not None
    files = (file for folder in cgroups.present(at.group) for file in folder.rglob("cgroup.procs"))
    lines = [file.read_text("ascii").split() for file in files if pod.container in str(file)]
    return sorted({int(pid) for line in lines for pid in line})


def test_a_rolling_restart_in_the_middle_loses_and_repeats_nothing(shop: Shop) -> None:
    before = begin(shop)
    with shop.watching() as seen:
        shop.kubectl("rollout", "restart", f"deployment/sendonce-{NAME}")
        until_gone(shop, before)
        assert_in_the_middle(shop)
        ended = {pod.name: seen()[pod.name].ended for pod in before}
    assert ended == {pod.name: DRAINED for pod in before}
    end(shop)


def test_an_eviction_and_a_drain_in_the_middle_lose_and_repeat_nothing(shop: Shop) -> None:
    before = begin(shop)
    with shop.watching() as seen:
        evict(shop, before[0])
        until_gone(shop, before[:1])
        until_ready(shop)
        try:
            selected = [f"--pod-selector=sendonce.dev/campaign={NAME}", "--delete-emptydir-data", "--timeout=60s"]
            shop.kubectl("drain", NODE_NAME, *selected)
            assert_in_the_middle(shop)
        finally:
            shop.kubectl("uncordon", NODE_NAME)
        ended = [pod.ended for pod in seen().values() if pod.ended]
    assert ended == [DRAINED] * (len(before) + 1)
    end(shop)


def test_a_killed_container_loses_and_repeats_nothing(shop: Shop) -> None:
    killed = begin(shop)[0]
    for pid in processes(shop, killed):
        os.kill(pid, signal.SIGKILL)
    assert_in_the_middle(shop)
    again = "the container was started again"
    shop.until(lambda: any(pod.name == killed.name and pod.restarts for pod in shop.pods()), again)
    assert 128 + signal.SIGKILL in next(pod.ended for pod in shop.pods() if pod.name == killed.name)
    end(shop)


def test_the_operator_takes_workers_away_towards_the_end_and_loses_and_repeats_nothing(shop: Shop) -> None:
    before = begin(shop)
    with shop.watching() as seen:
        shop.until(lambda: shop.replicas(NAME) == 1, "one worker is enough for what is left")
        assert_in_the_middle(shop)
        shop.until(lambda: len(shop.pods()) <= 1, "the others are gone")
        ended = sorted(seen()[pod.name].ended for pod in before)
    assert ended[-2:] == [DRAINED, DRAINED]
    end(shop)


def test_a_campaign_goes_on_while_the_kubelet_is_away(shop: Shop) -> None:
    begin(shop)
    shop.cluster.stop("kubelet", grace=0)
    try:
        there = shop.far_end.received()
        shop.until_received(there + 600)
        assert_in_the_middle(shop)
    finally:
        shop.cluster.start("kubelet")
    end(shop)
