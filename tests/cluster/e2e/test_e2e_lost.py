"""A node is lost for longer than Pods tolerate, and comes back: its workers wake up beside those that replaced them.

On one node all of this is on that node. The taint is one of the test's own: Kubernetes itself evicts nobody where all
nodes are lost, as it takes itself to be the one that is cut off. The operator is lost with the rest.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.e2e.containers import all_processes, processes, send
from tests.cluster.e2e.middle import assert_in_the_middle, begin, end
from tests.cluster.e2e.premises import SYSTEM
from tests.cluster.e2e.shop import Pod, Shop
from tools.cluster.addresses import NODE_NAME

TAINT = "example.com/lost"
# of new Pods none goes there (NoSchedule is not tolerated), and those that are there are given up after this time
TOLERATED = [{"key": TAINT, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}]


@contextmanager
def lost_node(shop: Shop, workers: list[int]) -> Iterator[None]:
    """Nothing moves on the node, and the cluster gives it up. When it is back, all but the workers moves again."""
    others = [pid for pid in all_processes(shop) if pid not in workers]
    shop.cluster.stop("kubelet", grace=0)
    try:
        send([*workers, *others], signal.SIGSTOP)
        shop.kubectl("taint", "node", NODE_NAME, f"{TAINT}=:NoExecute", f"{TAINT}=:NoSchedule")
        yield
    finally:
        send(others, signal.SIGCONT)
        shop.kubectl("taint", "node", NODE_NAME, f"{TAINT}-")
        shop.cluster.start("kubelet")


def replaced(shop: Shop, before: list[Pod]) -> bool:
    """Whether all Pods are given up, and as many others wait for a node."""
    names, now = {pod.name for pod in before}, shop.pods()
    given_up = [pod for pod in now if pod.name in names and pod.going]
    return len(given_up) == len(before) and len(now) == 2 * len(before)


def test_a_node_that_is_lost_for_longer_than_its_pods_tolerate_loses_and_repeats_nothing(shop: Shop) -> None:
    before = begin(shop, tolerations=TOLERATED)
    workers = [pid for pod in before for pid in processes(shop, pod)]
    try:
        with lost_node(shop, workers):
            assert_in_the_middle(shop)
            shop.until(lambda: replaced(shop, before), "the Pods are given up, and others wait")
            stood_still = shop.far_end.received()
        shop.until(lambda: any(pod.ready and not pod.going for pod in shop.pods()), "another worker is ready")
        shop.until_received(stood_still + 1)
        assert_in_the_middle(shop)
    finally:
        send(workers, signal.SIGCONT)
    end(shop)
    shop.kubectl("-n", SYSTEM, "rollout", "status", "deployment/sendonce-operator", "--timeout=120s")
