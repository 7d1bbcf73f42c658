"""A campaign of which some messages are sent and some are not, so that something can be done in the middle.

The provider honours keys, so that even a killed worker's messages in flight are handed off again: 0 lost, 0 twice.
"""

from __future__ import annotations

from typing import Any

from tests.cluster.e2e.shop import Pod, Shop, campaign, config_map, keyed, readers

WORKERS: dict[str, Any] = {"max": 3, "concurrency": 4, "terminationGracePeriodSeconds": 20}
IN_FLIGHT = WORKERS["max"] * WORKERS["concurrency"]
# How long the far end takes for a message, in seconds, and how many there are: three in a second, so that three workers
# are wanted for eleven minutes, four waits and a drain. What is left after the middle goes at once.
SLOW, QUICK = 4, 0
PEOPLE = 2500
# longer than SLOW on a busy machine
TIMEOUT = 8
NAME = "spring"


def until_ready(shop: Shop) -> None:
    shop.until(lambda: sum(pod.ready for pod in shop.pods()) == WORKERS["max"], "three workers are ready")


def begin(shop: Shop, people: int = PEOPLE, **workers: Any) -> list[Pod]:
    """Have three workers in the middle of a campaign, with further settings of theirs; returns their Pods."""
    shop.far_end.order(latency=SLOW)
    listed = config_map("readers", **{"readers.csv": readers(people)})
    shop.apply(keyed(shop.far_end, timeout=TIMEOUT), listed, campaign(NAME, workers={**WORKERS, **workers}))
    until_ready(shop)
    shop.until_received(IN_FLIGHT)
    return shop.pods()


def end(shop: Shop, people: int = PEOPLE) -> None:
    """Let the campaign end soon, and judge it."""
    shop.far_end.order(latency=QUICK)
    deliveries = shop.until_complete(NAME)["status"]["deliveries"]
    shop.assert_each_got_one(people)
    assert deliveries["sent"] == deliveries["total"] == people


def assert_in_the_middle(shop: Shop, people: int = PEOPLE) -> None:
    """What was done was done while there was something to send."""
    assert 0 < shop.far_end.received() < people


def goes_on(shop: Shop) -> None:
    """More arrives than was in flight, and not everything."""
    shop.until_received(shop.far_end.received() + IN_FLIGHT + 1)
    assert_in_the_middle(shop)


def until_gone(shop: Shop, pods: list[Pod]) -> None:
    names = {pod.name for pod in pods}
    shop.until(lambda: not names & {pod.name for pod in shop.pods()}, f"{names} are gone")
