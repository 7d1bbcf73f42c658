"""A campaign of which some messages are sent and some are not, so that something can be done in the middle.

The provider honours keys, so that even a killed worker's messages in flight are handed off again: 0 lost, 0 twice.
"""

from __future__ import annotations

from typing import Any

from tests.cluster.e2e.shop import Pod, Shop, campaign, config_map, keyed, readers

PEOPLE = 2400
# 40 messages per second and worker: the far end takes 0.1 s for each, and the campaign has 4 in flight per worker
WORKERS: dict[str, Any] = {"max": 3, "concurrency": 4, "terminationGracePeriodSeconds": 20}
NAME = "spring"


def until_ready(shop: Shop) -> None:
    shop.until(lambda: sum(pod.ready for pod in shop.pods()) == WORKERS["max"], "three workers are ready")


def begin(shop: Shop, **workers: Any) -> list[Pod]:
    """Have three workers in the middle of a campaign, with further settings of theirs; returns their Pods."""
    people = config_map("readers", **{"readers.csv": readers(PEOPLE)})
    shop.apply(keyed(shop.far_end), people, campaign(NAME, workers={**WORKERS, **workers}))
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
