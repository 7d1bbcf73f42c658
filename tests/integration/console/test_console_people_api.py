"""People, dead letters, levers and previews for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served

# tests that only look share a console
pytestmark = pytest.mark.asyncio(loop_scope="session")
API = "/api/v1/namespaces/shop/campaigns/spring"


async def send(seen: Served, path: str, body: Any, who: str = "support") -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {who}"}
    async with seen.session.post(seen.base + path, json=body, headers=headers) as answer:
        return answer.status, await answer.json(content_type=None)


async def test_recipients_come_page_by_page_each_once(seen: Served) -> None:
    met: list[str] = []
    after = ""
    while True:
        page = await seen.json(f"{API}/recipients?limit=5&after={after}", "agent")
        met += [one["recipient"] for one in page["items"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert len(met) == len(set(met)) == 12
    (rob,) = (await seen.json(f"{API}/recipients?state=failed&limit=1", "agent"))["items"]
    assert (rob["recipient"], rob["address"], rob["code"], rob["reason"]) == (
        "c9", "rob@example.com", "5.1.1", "permanent",
    )  # fmt: skip
    assert rob["message"].startswith("550 5.1.1 <rob@example.com>")


@pytest.mark.parametrize("who", ["c2", "line:2", "P2@example.com"])
async def test_one_person_is_the_same_however_named(seen: Served, who: str) -> None:
    found = await seen.json(f"{API}/recipients/{who}", "agent")
    assert (found["recipient"], found["line"], found["addresses"]) == ("c2", 2, {"Email": "p2@example.com"})
    (delivery,) = found["deliveries"]
    assert delivery["content"]["verified"] is True
    assert delivery["content"]["parts"]["text"] == "Dear Person 2, news!"
    assert [attempt["outcome"] for attempt in delivery["attempts"]] == ["accepted"]


async def test_what_keeps_a_person_out_is_told_with_its_origin(seen: Served) -> None:
    found = await seen.json(f"{API}/recipients/c13", "agent")
    assert found["title"].startswith("Not sent: suppressed")
    (entry,) = found["consent"]
    assert (entry["words"], entry["source"]) == ("Suppressed for every message: complained", "a form")


async def test_people_are_found_over_all_campaigns(seen: Served) -> None:
    found = await seen.json("/api/v1/namespaces/shop/people?q=mia%40example.com", "agent")
    assert [(one["campaign"], one["line"]) for one in found["items"]] == [("spring", 10)]
    begins = await seen.json("/api/v1/namespaces/shop/people?q=mia%40", "agent")
    assert [(one["address"], one["campaigns"]) for one in begins["begins"]] == [("mia@example.com", 1)]
    refused = await seen.json("/api/v1/namespaces/shop/people?q=", "agent")
    assert (refused["status"], refused["title"]) == (400, "q: can't be looked for")


async def test_dead_letters_are_masked_without_the_right_to_people(seen: Served) -> None:
    whole = await seen.json(f"{API}/deadletters", "support")
    masked = await seen.json(f"{API}/deadletters", "viewer")
    assert {(one["state"], one["count"]) for one in whole["items"]} == {("failed", 1), ("uncertain", 1)}
    assert "rob@example.com" in str(whole)
    assert "rob@example.com" not in str(masked)
    assert (whole["counted"], whole["total"]) == (2, 2)


@pytest.mark.parametrize(
    ("body", "status", "title"),
    [
        ({"lever": "explode"}, 404, "There is no such lever"),
        ({}, 404, "There is no such lever"),
        ([], 400, "body: is not a JSON object"),
        ({"lever": "retry", "name": "No Name"}, 400, "name: is no name of an order"),
        ({"lever": "retry", "deliveries": {"recipients": "c9"}}, 400, "deliveries.recipients: is no list of texts"),
        ({"lever": "retry", "deliveries": {"people": []}}, 400, "deliveries: is no selection"),
        ({"lever": "retry", "deliveries": {"states": ["Sent"]}}, 400, "deliveries.states[0]: must be one of"),
        ({"lever": "sent", "deliveries": {"states": ["Failed"]}}, 400, "deliveries.states[0]: must be Uncertain"),
        ({"lever": "cancel"}, 403, "You may not do this"),
    ],
)
async def test_a_bad_order_names_what_is_wrong(seen: Served, body: Any, status: int, title: str) -> None:
    answered, problem = await send(seen, f"{API}/actions", body)
    assert (answered, problem["status"]) == (status, status)
    assert problem["title"].startswith(title)
    assert problem["detail"]


async def test_who_may_not_see_people_orders_nothing_about_one(seen: Served) -> None:
    for path in (f"{API}/recipients", f"{API}/recipients/c9", "/api/v1/namespaces/shop/people?q=c9"):
        assert (await seen.json(path, "viewer"))["status"] == 403
    assert (await seen.json("/api/v1/namespaces/bank/campaigns/statement/recipients", "support"))["status"] == 404


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=x", "after=x", "state=x"])
async def test_bad_parameters_are_named(seen: Served, query: str) -> None:
    problem = await seen.json(f"{API}/recipients?{query}", "agent")
    assert problem["status"] == 400
    assert problem["title"].startswith(query.partition("=")[0])


async def test_a_preview_is_rendered_and_mistakes_have_their_line(seen: Served) -> None:
    text = """apiVersion: sendonce.dev/v1alpha1
kind: NotificationCampaign
metadata: {name: spring}
spec:
  category: Transactional
  recipients: {inline: [{id: ada, email: ada@example.com}]}
  messages:
  - {channel: Email, providerRef: {name: smtp}, template: {from: a@example.com, subject: Hi, text: "Hi {{ id }}"}}
"""
    path = "/api/v1/namespaces/shop/preview"
    status, found = await send(seen, path, {"text": text, "recipients": ["ada"]}, "viewer")
    assert (status, found["problems"], found["messages"][0]["parts"]["text"]) == (200, [], "Hi ada")
    status, wrong = await send(seen, path, {"text": text.replace("Transactional", "Other")}, "viewer")
    assert (status, wrong["problems"][0]["line"], wrong["problems"][0]["field"]) == (200, 5, "spec.category")
    status, problem = await send(seen, path, {"text": ""}, "viewer")
    assert (status, problem["title"]) == (400, "text: is no text of a campaign")
