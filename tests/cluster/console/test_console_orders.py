"""Levers in a cluster: an action with the name of who asked, a wish in the spec, and no more than the viewer may."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.console_cases.town import campaign_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.console.conftest import Signed, Staff

pytestmark = pytest.mark.control_plane


async def order(signed: Signed, body: Any, token: str) -> tuple[int, Any]:
    path = f"{signed.base}/api/v1/namespaces/{signed.staff.shop}/campaigns/spring/actions"
    headers = {"Authorization": f"Bearer {token}"}
    async with signed.session.post(path, json=body, headers=headers) as answer:
        return answer.status, await answer.json(content_type=None)


def kept(signed: Signed, kind: str, name: str) -> dict[str, Any]:
    found = signed.staff.cluster.kubectl("get", kind, name, "-n", signed.staff.shop, "-o", "json")
    return dict(json.loads(found))


def campaign_object(signed: Signed) -> None:
    """Make the object whose rows the town has."""
    wire = campaign_document(signed.staff.shop, "spring").to_wire()
    wire.pop("status", None)
    signed.staff.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(wire))


@pytest.fixture(autouse=True)
def nothing_is_left(staff: Staff) -> Iterator[None]:
    """Take away what was applied."""
    yield
    staff.cluster.kubectl("delete", "nc,na", "--all", "-n", staff.shop, "--timeout=60s")


async def test_an_order_is_an_action_that_says_for_whom(signed: Signed) -> None:
    campaign_object(signed)
    token, name = signed.staff.tokens["support"], "console-retry-one"
    body = {"lever": "retry", "name": name, "deliveries": {"recipients": ["line:9"]}}
    for _ in range(2):  # the same name again is the same order
        assert (await order(signed, body, token))[0] == 200
    made = kept(signed, "notificationaction", name)
    who = f"system:serviceaccount:{signed.staff.shop}:support"
    assert made["metadata"]["annotations"]["sendonce.dev/requested-by"] == who
    chosen = {name: value for name, value in made["spec"].pop("deliveries").items() if value}
    assert made["spec"] == {"campaignRef": {"name": "spring"}, "type": "Retry"}
    assert chosen == {"states": ["Failed"], "recipients": ["line:9"]}
    page = f"/ns/{signed.staff.shop}/campaigns/spring/orders/{name}"
    assert "Ordered, and not carried out yet" in (await signed.get(page, "support")).text
    condition: dict[str, Any] = {
        "type": "Stalled",
        "status": "True",
        "reason": "NotApplicable",
        "message": "the data is gone",
    }
    condition |= {"lastTransitionTime": "2026-12-01T00:00:00Z", "observedGeneration": 1}
    patch = json.dumps({"status": {"conditions": [condition]}})
    signed.staff.cluster.kubectl(
        "patch",
        "notificationaction",
        name,
        "-n",
        signed.staff.shop,
        "--subresource=status",
        "--type=merge",
        "-p",
        patch,
    )
    assert "NotApplicable: the data is gone" in (await signed.get(page, "support")).text


async def test_a_wish_takes_the_right_to_patch_the_campaign_and_is_signed(signed: Signed) -> None:
    campaign_object(signed)
    refused, problem = await order(signed, {"lever": "suspend"}, signed.staff.tokens["support"])
    assert (refused, "patch notificationcampaigns.sendonce.dev" in problem["detail"]) == (403, True)
    assert not kept(signed, "notificationcampaign", "spring")["spec"].get("suspend")
    kubectl, shop = signed.staff.cluster.kubectl, signed.staff.shop
    kubectl("create", "serviceaccount", "boss", "-n", shop)
    kubectl("create", "role", "boss", "-n", shop, "--verb=get,patch", "--resource=notificationcampaigns.sendonce.dev")
    kubectl("create", "rolebinding", "boss", "-n", shop, "--role=boss", f"--serviceaccount={shop}:boss")
    token = signed.staff.token(shop, "boss", "--audience", "sendonce-console")
    assert (await order(signed, {"lever": "suspend"}, token))[0] == 200
    suspended = kept(signed, "notificationcampaign", "spring")
    assert suspended["spec"]["suspend"] is True
    listed = await signed.get(f"/ns/{shop}/campaigns/spring/orders", token=token)
    assert f"Wished by system:serviceaccount:{shop}:boss" in listed.text
    kubectl("delete", "notificationcampaign", "spring", "-n", shop, "--wait=false")
    gone, problem = await order(signed, {"lever": "go-on"}, token)
    assert (gone, problem["title"]) == (409, "The campaign was deleted")


async def test_nobody_orders_in_another_teams_namespace(signed: Signed) -> None:
    for who in ("viewer", "agent"):
        status, problem = await order(signed, {"lever": "retry"}, signed.staff.tokens[who])
        assert (status, "create notificationactions.sendonce.dev" in problem["detail"]) == (403, True)
    assert (await order(signed, {"lever": "retry"}, signed.staff.tokens["teller"]))[0] == 404
