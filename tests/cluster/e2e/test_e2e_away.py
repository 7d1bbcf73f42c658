"""The operator is away in the middle, and a namespace has no login of the store: both at once, in two namespaces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

import pytest
from tests.cluster.e2e.containers import kill
from tests.cluster.e2e.middle import NAME, begin, end, goes_on
from tests.cluster.e2e.premises import SYSTEM, Premises
from tests.cluster.e2e.shop import Object, Pod, Shop, campaign, config_map, keyed, readers

SOME = 20
OPERATOR = "app.kubernetes.io/part-of=sendonce,app.kubernetes.io/component=operator"


@pytest.fixture(scope="module")
def lonely(premises: Premises, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A namespace in which somebody has applied a campaign, and which nobody has let in."""
    with premises.shop(tmp_path_factory.mktemp("lonely"), tenant=False) as shop:
        people = config_map("readers", **{"readers.csv": readers(SOME)})
        shop.apply(keyed(shop.far_end), people, campaign("spring"))
        yield shop


def operators(shop: Shop) -> list[Pod]:
    found = json.loads(shop.kubectl("-n", SYSTEM, "get", "pods", "-l", OPERATOR, "-o", "json"))
    return [Pod.of(one) for one in found["items"]]


def until_it_is_back(shop: Shop, before: Pod) -> None:
    """Wait for an operator that is ready, and is not the container that was there."""

    def back() -> bool:
        return any(pod.ready and not pod.going and pod.container != before.container for pod in operators(shop))

    shop.until(back, "the operator is back")


def test_a_campaign_goes_on_while_the_operator_is_killed_and_evicted_and_its_status_is_right_afterwards(
    lonely: Shop, shop: Shop
) -> None:
    begin(shop)
    (first,) = operators(shop)
    kill(Shop(shop.cluster, SYSTEM, shop.far_end, shop.folder), first)
    goes_on(shop)
    until_it_is_back(shop, first)
    (second,) = operators(shop)
    shop.kubectl("-n", SYSTEM, "delete", "pod", second.name, "--wait=false")
    goes_on(shop)
    until_it_is_back(shop, second)
    assert shop.condition(NAME, "Ready")[:2] == ("True", "Sending")
    end(shop)
    shop.until(lambda: shop.replicas(NAME) == 0, "no worker is left")
    assert lonely.condition("spring", "Complete")[0] != "True"


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def stalled(found: Object) -> Object:
    listed = found.get("status", {}).get("conditions", [])
    return next((one for one in listed if one["type"] == "Stalled"), {})


def test_a_namespace_without_a_login_is_told_so_within_a_minute_and_a_login_cures_it(
    lonely: Shop, premises: Premises
) -> None:
    lonely.until(lambda: bool(stalled(lonely.get("nc", "spring"))), "the condition asks for a person")
    found = lonely.get("nc", "spring")
    said = stalled(found)
    assert said["reason"] == "SecretNotFound"
    assert "`sendonce tenant add` makes it" in said["message"]
    waited = moment(said["lastTransitionTime"]) - moment(found["metadata"]["creationTimestamp"])
    # a minute, and half of one for which the operator was away
    assert waited.total_seconds() <= 90
    premises.add_tenant(lonely.namespace)
    lonely.until_complete("spring")
    lonely.assert_each_got_one(SOME)
