"""Recipients added to a standing campaign over HTTP: once per key, for who has a token of the namespace."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from psycopg import sql

from sendonce_store import campaigns, gateway_tokens
from sendonce_store.spec import CampaignSpec, NotificationCampaign, NotificationProvider, load_documents
from sendonce_store.tenancy import TenancyError

if TYPE_CHECKING:
    from tests.integration.gateway.conftest import Answer, Gate, Opening

API = "sendonce.dev/v1alpha1"
ADA = {"email": "ada@example.com", "name": "Ada", "order": 4711}


class Orders:
    """A standing campaign of the namespace `shop`, and an application that adds to it."""

    def __init__(self, gate: Gate, token: str) -> None:
        self.gate = gate
        self.token = token

    async def post(
        self, body: Any = None, key: str | None = "order-4711", campaign: str = "orders", **more: Any
    ) -> Answer:
        headers = {"Authorization": f"Bearer {self.token}"} | ({} if key is None else {"Idempotency-Key": key})
        data = body if isinstance(body, (bytes, str)) else json.dumps(ADA if body is None else body)
        headers |= more.pop("headers", {})
        path = f"/v1/namespaces/{more.pop('namespace', 'shop')}/campaigns/{campaign}/recipients"
        return await self.gate.post(path, data, headers=headers, **more)

    async def inbox(self) -> list[dict[str, Any]]:
        return await self.gate.rows("SELECT key, no, recipient FROM sendonce.inbox ORDER BY no")


async def adopt(gate: Gate, name: str, recipients: dict[str, Any], namespace: str = "shop") -> int:
    metadata = {"name": name, "namespace": namespace}
    http = {"url": "http://127.0.0.1:9/send"}
    template = {"from": "a@example.com", "subject": "Order {{ order }}", "text": "Thank you, {{ name }}"}
    message = {"channel": "Email", "providerRef": {"name": "far-end"}, "template": template}
    spec = {"category": "Transactional", "recipients": recipients, "messages": [message]}
    documents = [
        {"apiVersion": API, "kind": "NotificationProvider", "metadata": {"name": "far-end", "namespace": namespace},
         "spec": {"type": "HTTP", "http": http}},
        {"apiVersion": API, "kind": "NotificationCampaign", "metadata": metadata, "spec": spec},
    ]  # fmt: skip
    provider, campaign = (load_documents(json.dumps(one), "x.json")[0].resource for one in documents)
    assert isinstance(provider, NotificationProvider)
    assert isinstance(campaign, NotificationCampaign)
    assert isinstance(campaign.spec, CampaignSpec)
    await campaigns.sync_provider(gate.owner, provider)
    return (await campaigns.adopt(gate.owner, campaign, campaign.spec)).campaign_id


async def orders_of(gate: Gate) -> Orders:
    await adopt(gate, "orders", {"stream": {}})
    return Orders(gate, await gateway_tokens.add(gate.owner, "shop", "checkout"))


@pytest_asyncio.fixture
async def orders(gate: Gate) -> Orders:
    return await orders_of(gate)


def told(answer: Answer) -> tuple[int, str]:
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.status, json.loads(answer.text)["error"]["code"]


async def test_a_recipient_is_taken_once_per_key_however_often_it_is_posted(orders: Orders) -> None:
    answers = [await orders.post() for _ in range(3)]
    answers += await asyncio.gather(*(orders.post() for _ in range(10)))
    assert {answer.status for answer in answers} == {202}
    assert len({answer.text for answer in answers}) == 1
    (row,) = await orders.inbox()
    assert json.loads(answers[0].text) == {"recipient": {"number": row["no"]}}
    assert (row["key"], row["recipient"]) == ("order-4711", ADA)
    assert "sendonce_gateway_enqueued_total 13.0" in await orders.gate.metrics()


async def test_another_key_is_another_message(orders: Orders) -> None:
    for key in ("order-1", "order-2", "o" * 255):
        assert (await orders.post(key=key)).status == 202
    assert len(await orders.inbox()) == 3


async def test_the_same_key_with_another_recipient_is_refused(orders: Orders) -> None:
    await orders.post()
    # the same content in another order and spacing is the same recipient
    assert (await orders.post(json.dumps(dict(reversed(ADA.items())), indent=3))).status == 202
    assert told(await orders.post({**ADA, "order": 4712})) == (422, "idempotency_key_reused")
    assert len(await orders.inbox()) == 1


async def test_numbers_keep_all_their_digits_and_names_their_script(orders: Orders) -> None:
    await orders.post(
        b'{"email": "ada@example.com", "name": "\xc3\x86da \\u00e9", "no": 123456789012345678901234567890}'
    )
    rows = await orders.gate.rows("SELECT recipient ->> 'no' AS no, recipient ->> 'name' AS name FROM sendonce.inbox")
    assert rows == [{"no": "123456789012345678901234567890", "name": "Æda é"}]


# PostgreSQL writes a space behind each comma and colon: what came in less than 64 KiB may be more than that
WIDE = json.dumps({"email": "a@example.com", **{f"a{no}": 1 for no in range(5_800)}}, separators=(",", ":"))
REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"key": None}, 400, "missing_idempotency_key"),
    ({"key": ""}, 400, "invalid_idempotency_key"),
    ({"key": "k" * 256}, 400, "invalid_idempotency_key"),
    ({"key": "é"}, 400, "invalid_idempotency_key"),
    ({"body": b""}, 400, "invalid_json"),
    ({"body": b"{"}, 400, "invalid_json"),
    ({"body": b"\xff\xfe"}, 400, "invalid_json"),
    ({"body": b'{"email": NaN}'}, 400, "invalid_json"),
    ({"body": b"email=ada@example.com"}, 400, "invalid_json"),
    ({"body": b"[" * 60_000}, 400, "invalid_json"),
    ({"body": []}, 422, "invalid_recipient"),
    ({"body": "null"}, 422, "invalid_recipient"),
    ({"body": {"phone": "+15005550006"}}, 422, "invalid_recipient"),
    ({"body": {"email": ""}}, 422, "invalid_recipient"),
    ({"body": rb'{"email": "a@example.com", "name": "\u0000"}'}, 422, "invalid_recipient"),
    ({"body": rb'{"email": "a@example.com", "name": "\ud800"}'}, 400, "invalid_json"),
    ({"body": {"email": "a@example.com", "text": "x" * 65_600}}, 413, "too_large"),
    ({"body": WIDE}, 422, "invalid_recipient"),
    ({"campaign": "nobody"}, 404, "unknown_campaign"),
    ({"campaign": "%00"}, 404, "unknown_campaign"),
    ({"campaign": "a%2Fb"}, 404, "unknown_campaign"),
    ({"campaign": "spring"}, 409, "not_a_stream"),
]  # fmt: skip


async def test_what_can_not_be_taken_is_refused_with_a_code_and_a_way_out(orders: Orders) -> None:
    await adopt(orders.gate, "spring", {"inline": [{"email": "x@example.com"}]})
    for given, status, code in REFUSED:
        answer = await orders.post(**given)
        assert (told(answer), given) == ((status, code), given)
        assert len(json.loads(answer.text)["error"]["message"]) > 20
    assert await orders.inbox() == []


async def test_deep_objects_are_taken_or_refused_and_break_nothing(orders: Orders) -> None:
    deep = '{"email": "a@example.com", "x": ' + "[" * 1000 + "]" * 1000 + "}"
    assert (await orders.post(deep)).status == 202


async def test_a_campaign_that_is_over_takes_nobody_and_still_answers_for_whom_it_took(orders: Orders) -> None:
    first = await orders.post()
    over = {"closed_at": "campaign_closed", "deadline": "campaign_closed", "cancelled_at": "campaign_cancelled"}
    for column, code in over.items():
        change = sql.SQL("UPDATE sendonce.campaigns SET {} = now()").format(sql.Identifier(column))
        await orders.gate.owner.execute(change)
        assert told(await orders.post(key="order-4712")) == (409, code)
        again = await orders.post()
        assert (again.status, again.text) == (202, first.text)
        await orders.gate.owner.execute(
            sql.SQL("UPDATE sendonce.campaigns SET {} = NULL").format(sql.Identifier(column))
        )


async def test_without_a_token_nothing_is_said_and_nothing_done(orders: Orders) -> None:
    path = "/v1/namespaces/shop/campaigns/orders/recipients"
    given = ["", "Bearer", "Bearer sendonce_app_made-up", "Basic c2hvcDpzaG9w", "Bearer \xff", "Bearer " + "x" * 600]
    for headers in ({}, *({"Authorization": one} for one in given)):
        answer = await orders.gate.post(path, json.dumps(ADA), headers={"Idempotency-Key": "a", **headers})
        assert (told(answer), headers) == ((401, "unauthorized"), headers)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert await orders.inbox() == []


async def test_a_token_is_good_for_its_namespace_until_it_is_removed(orders: Orders) -> None:
    await adopt(orders.gate, "orders", {"stream": {}}, "bank")
    theirs = Orders(orders.gate, await gateway_tokens.add(orders.gate.owner, "bank", "app"))
    assert told(await theirs.post()) == (401, "unauthorized")
    assert told(await orders.post(namespace="bank")) == (401, "unauthorized")
    # also for what is not there: whose names are taken is nobody else's business
    assert told(await orders.post(namespace="bank", campaign="nobody")) == (401, "unauthorized")
    assert (await theirs.post(namespace="bank")).status == 202
    assert await gateway_tokens.remove(orders.gate.owner, "shop", "checkout")
    assert told(await orders.post()) == (401, "unauthorized")


async def test_the_store_does_not_know_a_token_and_names_are_given_once(orders: Orders) -> None:
    dump = str(await orders.gate.rows("SELECT *, encode(digest, 'hex') AS hex FROM sendonce.gateway_tokens"))
    assert orders.token.removeprefix("sendonce_app_") not in dump
    with pytest.raises(TenancyError, match="has a token checkout already"):
        await gateway_tokens.add(orders.gate.owner, "shop", "checkout")
    for namespace, name in (("Shop", "a"), ("shop", "a b"), ("shop", "")):
        with pytest.raises(TenancyError, match="use lower-case letters"):
            await gateway_tokens.add(orders.gate.owner, namespace, name)


async def test_a_flood_of_one_application_is_slowed_down_and_others_are_not(open_gate: Opening) -> None:
    orders = await orders_of(await open_gate(enqueue_per_second=1))
    found = [(await orders.post(key=f"order-{no}")).status for no in range(5)]
    assert found[:2] == [202, 202]
    assert found[-1] == 429
    other = Orders(orders.gate, await gateway_tokens.add(orders.gate.owner, "shop", "returns"))
    assert (await other.post(key="return-1")).status == 202


async def test_who_tries_tokens_is_held_up_and_applications_beside_him_are_not(orders: Orders) -> None:
    known, new = orders.token, await gateway_tokens.add(orders.gate.owner, "shop", "returns")
    assert (await orders.post()).status == 202
    found = []
    for no in range(40):
        orders.token = f"sendonce_app_{no}"
        found.append((await orders.post()).status)
    assert found[:30] == [401] * 30
    assert found[-1] == 429
    for token, status in ((known, 202), (new, 429)):
        orders.token = token
        assert (await orders.post()).status == status


async def test_get_says_what_to_use_and_nothing_is_answered_as_a_page(orders: Orders) -> None:
    answer = await orders.gate.get("/v1/namespaces/shop/campaigns/orders/recipients")
    assert told(answer) == (405, "method_not_allowed")
    assert told(await orders.gate.get("/v1/nothing")) == (404, "not_found")
