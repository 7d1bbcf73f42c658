"""What a lever orders, as a NotificationAction: named so that the same order is given once."""

from __future__ import annotations

from typing import Any

import pytest

from sendonce_kubectl.failing import PluginError
from sendonce_kubectl.orders import REASONS, RETRIABLE, Selection, action, same_order, signed
from sendonce_store.spec import NotificationAction
from sendonce_store.spec.action import DeadLetterState, DeliveryReason


def campaign(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "spring", "namespace": "shop", "uid": "u1"}, "status": status}


def name(order: dict[str, Any]) -> str:
    found: str = order["metadata"]["name"]
    return found


def test_an_order_is_what_the_resource_model_takes() -> None:
    chosen = Selection(["Failed"], ["retries_exhausted", "Permanent"], ["4.2.2"], ["Email"], (), 5).document()
    order = action(campaign(), "Retry", deliveries=chosen)
    found = NotificationAction.from_wire(order)
    assert found.spec.deliveries is not None
    assert [one.value for one in found.spec.deliveries.reasons] == ["RetriesExhausted", "Permanent"]
    assert found.spec.deliveries.limit == 5
    assert NotificationAction.from_wire(action(campaign(), "Resolve", resolveAs="Sent")).spec.deliveries is None


def test_the_words_of_the_plugin_are_those_of_the_resource() -> None:
    assert set(REASONS) == {one.value for one in DeliveryReason}
    assert set(RETRIABLE) == {one.value for one in DeadLetterState} - {"Uncertain"}


def test_the_same_order_has_the_same_name_while_the_campaign_stands_as_it_did() -> None:
    first = action(campaign(deliveries={"failed": 3}), "Retry")
    assert name(first).startswith("spring-retry-")
    assert name(action(campaign(deliveries={"failed": 3}), "Retry")) == name(first)
    assert name(action(campaign(deliveries={"failed": 2}), "Retry")) != name(first)
    assert name(action(campaign(deliveries={"failed": 3}), "Retry", deliveries={"limit": 1})) != name(first)
    turned = campaign(deliveries={"failed": 3}, conditions=[{"type": "Complete", "status": "True"}])
    assert name(action(turned, "Retry")) != name(first)


def test_a_name_is_a_dns_label_however_long_the_campaign_is_called() -> None:
    long = campaign() | {"metadata": {"name": "a" * 41 + "-" + "b" * 10, "namespace": "shop"}}
    for kind in ("Retry", "Resolve", "Promote", "Resume"):
        NotificationAction.from_wire(action(long, kind, **({"resolveAs": "Sent"} if kind == "Resolve" else {})))
        assert len(name(action(long, kind))) <= 63


@pytest.mark.parametrize("given", ["", "A", "-a", "a-", "a_b", "a" * 64, "a/b"])
def test_a_name_that_can_be_none_is_refused(given: str) -> None:
    with pytest.raises(PluginError, match="--name"):
        action(campaign(), "Promote", name=given)


def test_a_reason_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(PluginError, match="'Bounced' is none of Permanent, RetriesExhausted"):
        Selection(reasons=["Bounced"]).document()


def test_more_people_than_an_order_takes_are_refused() -> None:
    with pytest.raises(PluginError, match="101 are more than 100"):
        Selection(recipients=[str(no) for no in range(101)]).document()


def test_an_order_that_is_there_is_the_same_if_it_says_what_is_wanted() -> None:
    wanted = action(campaign(), "Retry", deliveries={"codes": ["1"]})
    there = {**wanted, "spec": {**wanted["spec"], "added": "by the server"}}
    assert same_order(there, wanted)
    assert not same_order({**there, "spec": {**there["spec"], "deliveries": {"codes": ["2"]}}}, wanted)
    assert not same_order({**there, "spec": {}}, wanted)


def test_who_orders_is_noted_and_changes_no_name() -> None:
    order = action(campaign(), "Promote")
    assert signed(order, "mia")["metadata"]["annotations"] == {"sendonce.dev/requested-by": "mia"}
    assert name(signed(order, "mia")) == name(order)
    assert signed(order, "") == order
