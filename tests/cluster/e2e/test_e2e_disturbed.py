"""What happens to Pods while a campaign is being sent; the far end's ledger says whether anybody noticed."""

from __future__ import annotations

import json
import signal

from tests.cluster.e2e.containers import kill
from tests.cluster.e2e.middle import NAME, SLOW, assert_in_the_middle, begin, end, goes_on, until_gone, until_ready
from tests.cluster.e2e.shop import Pod, Shop
from tools.cluster.addresses import NODE_NAME

# A worker that drained ends with 0, as one does whose campaign is over, and says which it was.
DRAINED = (0,)
WORDS = ("drained: it was asked to stop, what was in flight has ended, and the rest is given back",)
# Three workers are wanted for so many (three batches), and one for the last 480. From some on to a little more than
# that the far end hurries, though not so much that the end could be missed; from then on it is slow again.
FEW, HURRIED, RATHER_QUICK = 1100, 600, 0.2


def evict(shop: Shop, pod: Pod) -> None:
    """Ask for an eviction, as the autoscaler of nodes does."""
    metadata = {"name": pod.name, "namespace": shop.namespace}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    path = f"/api/v1/namespaces/{shop.namespace}/pods/{pod.name}/eviction"
    shop.kubectl("create", "--raw", path, "-f-", stdin=json.dumps(eviction))


def test_a_rolling_restart_in_the_middle_loses_and_repeats_nothing(shop: Shop) -> None:
    before = begin(shop)
    with shop.watching() as seen:
        shop.kubectl("rollout", "restart", f"deployment/sendonce-{NAME}")
        until_gone(shop, before)
        assert_in_the_middle(shop)
        ended = {pod.name: (seen()[pod.name].ended, seen()[pod.name].said) for pod in before}
    assert ended == {pod.name: (DRAINED, WORDS) for pod in before}
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
    kill(shop, killed)
    assert_in_the_middle(shop)
    again = "the container was started again"
    shop.until(lambda: any(pod.name == killed.name and pod.restarts for pod in shop.pods()), again)
    assert 128 + signal.SIGKILL in next(pod.ended for pod in shop.pods() if pod.name == killed.name)
    end(shop)


def test_the_operator_takes_workers_away_towards_the_end_and_loses_and_repeats_nothing(shop: Shop) -> None:
    before = begin(shop, FEW)
    shop.far_end.order(latency=RATHER_QUICK)
    shop.until_received(HURRIED)
    shop.far_end.order(latency=SLOW)
    with shop.watching() as seen:
        shop.until(lambda: shop.replicas(NAME) == 1, "one worker is enough for what is left")
        assert_in_the_middle(shop, FEW)
        shop.until(lambda: len(shop.pods()) <= 1, "the others are gone")
        ended = sorted(seen()[pod.name].ended for pod in before)
    assert ended[-2:] == [DRAINED, DRAINED]
    end(shop, FEW)


def test_a_campaign_goes_on_while_the_kubelet_is_away(shop: Shop) -> None:
    begin(shop)
    shop.cluster.stop("kubelet", grace=0)
    try:
        goes_on(shop)
    finally:
        shop.cluster.start("kubelet")
    end(shop)
