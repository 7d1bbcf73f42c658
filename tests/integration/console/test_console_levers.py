"""Dead letters and levers: what one will do is said first, it is done once, and who ordered it is shown."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.console_cases.markup import intruders

if TYPE_CHECKING:
    from tests.integration.console.conftest import Answer, Served

SPRING = "/ns/shop/campaigns/spring"
API = "/api/v1/namespaces/shop/campaigns/spring"


def form_of(page: str) -> dict[str, str]:
    """The hidden fields of the form that asks for confirmation."""
    form = re.search(r'<form class="confirm.*?</form>', page, re.DOTALL)
    assert form is not None
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0])
    return {name: value.replace("&#34;", '"') for name, value in fields}


async def pulled(console: Served, lever: str, query: str = "", who: str = "support") -> tuple[str, Answer]:
    """Ask, confirm, and go where it leads; the page that asked and the page of the order."""
    asked = await console.get(f"{SPRING}/levers/{lever}{query}", who)
    assert asked.status == 200, asked.text
    done = await console.post(f"{SPRING}/levers/{lever}", form_of(asked.text), who)
    assert done.status == 303, done.text
    return asked.text, await console.get(done.headers["Location"], who)


async def send(console: Served, path: str, body: Any, who: str = "support") -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {who}"}
    async with console.session.post(console.base + path, json=body, headers=headers) as answer:
        return answer.status, await answer.json(content_type=None)


async def states(console: Served, **wanted: str) -> dict[str, str]:
    rows = await console.conn.execute(
        "SELECT address, state FROM sendonce.deliveries WHERE campaign_id = %s", [console.town.spring.id]
    )
    return {row["address"]: row["state"] for row in await rows.fetchall()}


@pytest.mark.asyncio(loop_scope="session")
async def test_dead_letters_are_grouped_by_reason(seen: Served) -> None:
    shown = await seen.get(f"{SPRING}/deadletters", "support")
    assert shown.status == 200
    for words in ("5.1.1", "The far end refused it for good.", "no answer said whether it was taken", "Try again"):
        assert words in shown.text
    assert "&lt;rob@example.com&gt;" in shown.text
    assert not intruders(shown.text)


@pytest.mark.asyncio(loop_scope="session")
async def test_who_may_not_see_people_reads_the_far_ends_words_masked(seen: Served) -> None:
    shown = await seen.get(f"{SPRING}/deadletters", "viewer")
    assert shown.status == 200
    assert "rob@example.com" not in shown.text
    assert "r***@example.com" in shown.text
    assert "/levers/" not in shown.text


async def test_a_retry_of_one_person_says_what_it_will_do_and_does_it_once(console: Served) -> None:
    query = "?recipients=line:9&states=failed&channels=Email"
    asked = await console.get(f"{SPRING}/levers/retry{query}", "support")
    assert "1 delivery will be handed over again, with all attempts anew." in asked.text
    assert "recorded as ordered by support" in asked.text
    fields = form_of(asked.text)
    done = await console.post(f"{SPRING}/levers/retry", fields, "support")
    again = await console.post(f"{SPRING}/levers/retry", fields, "support")  # the same form twice is one order
    assert (done.status, again.status) == (303, 303)
    assert (await states(console))["rob@example.com"] == "pending"
    order = await console.get(done.headers["Location"], "support")
    assert "1 of 1 deliveries changed" in order.text
    assert "support" in order.text
    listed = await console.get(f"{SPRING}/orders", "viewer")
    assert listed.text.count(fields["name"]) == 1
    assert "1 recipient" in listed.text


async def test_resend_says_that_it_may_reach_people_twice(console: Served) -> None:
    asked, order = await pulled(console, "resend")
    assert "It may reach 1 person twice: the first message may have arrived." in asked
    assert "can&#39;t be undone" in asked
    assert "button-danger" in asked
    assert "1 of 1 deliveries changed" in order.text
    assert (await states(console))["mia@example.com"] == "pending"


@pytest.mark.parametrize(("lever", "state"), [("sent", "sent"), ("give-up", "failed")])
async def test_the_uncertain_are_resolved(console: Served, lever: str, state: str) -> None:
    asked, _ = await pulled(console, lever, "?recipients=line:10")
    assert "1 delivery will count as" in asked
    assert (await states(console))["mia@example.com"] == state


async def test_a_person_is_suppressed_and_let_in_again(console: Served) -> None:
    asked, order = await pulled(console, "suppress", "?recipients=line:9&channels=Email")
    assert "whatever it is about" in asked
    shown = await console.get(f"{SPRING}/recipients/line:9", "support")
    assert "Suppressed for every message: blocked" in shown.text
    assert "by support" in shown.text
    (back,) = re.findall(r'href="([^"]*levers/unsuppress[^"]*)"', order.text)
    assert "1 delivery" in (await console.get(back.replace("&amp;", "&"), "support")).text
    _, lifted = await pulled(console, "unsuppress", "?recipients=line:9&channels=Email")
    assert "1 suppressions taken back" in lifted.text
    assert "Suppressed for every message" not in (await console.get(f"{SPRING}/recipients/line:9", "support")).text


@pytest.mark.asyncio(loop_scope="session")
async def test_a_group_is_selected_as_it_is_shown(seen: Served) -> None:
    page = await seen.get(f"{SPRING}/deadletters", "support")
    (link,) = re.findall(r'href="([^"]*levers/retry\?[^"]*codes=5\.1\.1[^"]*)"', page.text)
    asked = await seen.get(link.replace("&amp;", "&"), "support")
    assert "1 delivery will be handed over again" in asked.text
    assert json.loads(form_of(asked.text)["deliveries"]) == {
        "states": ["Failed"], "reasons": ["Permanent"], "codes": ["5.1.1"], "channels": ["Email"],
    }  # fmt: skip


async def test_a_campaign_is_suspended_goes_on_and_is_cancelled_and_each_is_recorded(console: Served) -> None:
    for lever, said in (
        ("suspend", "Suspended the campaign"),
        ("go-on", "Let the campaign go on"),
        ("cancel", "Cancelled"),
    ):
        asked, listed = await pulled(console, lever, who="admin")
        assert "What it will do" in asked
        assert said in listed.text
        assert listed.text.count("admin") > 1
    assert (await states(console))["leo@example.com"] == "cancelled"
    ended = "/ns/shop/campaigns/welcome/levers/suspend"
    again = await console.post(ended, {"name": "x"}, "admin", page="/search")
    assert again.status == 409
    assert "The campaign has ended" in again.text


@pytest.mark.asyncio(loop_scope="session")
async def test_levers_take_the_right_to_them(seen: Served) -> None:
    for who, lever in (("viewer", "retry"), ("agent", "retry"), ("support", "cancel"), ("agent", "suspend")):
        for answer in (
            await seen.get(f"{SPRING}/levers/{lever}", who),
            await seen.post(f"{SPRING}/levers/{lever}", {"name": "x"}, who, page="/search"),
        ):
            assert answer.status == 403, (who, lever)
            assert "It takes the right to" in answer.text
    assert (await seen.get("/ns/bank/campaigns/statement/levers/retry", "support")).status == 404


@pytest.mark.asyncio(loop_scope="session")
async def test_a_form_without_its_token_does_nothing(seen: Served) -> None:
    fields = form_of((await seen.get(f"{SPRING}/levers/retry", "support")).text)
    for token in ("", "0" * 64):
        answer = await seen.post(f"{SPRING}/levers/retry", {**fields, "csrf": token}, "support")
        assert answer.status == 403
    assert (await states(seen))["rob@example.com"] == "failed"


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"name": ""}, 400, "name: is no name of an order"),
        ({"name": "A b"}, 400, "name: is no name of an order"),
        ({"name": "a", "deliveries": "{"}, 400, "deliveries: can&#39;t be read"),
        ({"name": "a", "deliveries": "[]"}, 400, "deliveries: can&#39;t be read"),
        (
            {"name": "a", "deliveries": '{"states": ["Uncertain"]}'},
            400,
            "must be Failed, Expired, Cancelled or Suppressed",
        ),
        ({"name": "a", "deliveries": '{"states": 1}'}, 400, "deliveries.states"),
        ({"name": "a", "deliveries": '{"pigeons": []}'}, 400, "deliveries.pigeons"),
        ({"name": "a", "deliveries": '{"recipients": ["' + "x" * 300 + '"]}'}, 400, "deliveries.recipients[0]"),
        ({"name": "a", "deliveries": '{"codes": ["<script>alert(1)</script>"]}'}, 303, ""),
    ],
)
async def test_a_bad_order_is_named(console: Served, fields: dict[str, Any], status: int, words: str) -> None:
    answer = await console.post(f"{SPRING}/levers/retry", fields, "support", page="/search")
    assert (answer.status, words in answer.text) == (status, True)
    if status == 303:
        shown = await console.get(answer.headers["Location"], "support")
        assert not intruders(shown.text)


@pytest.mark.asyncio(loop_scope="session")
async def test_what_is_not_there_is_said(seen: Served) -> None:
    for path in ("levers/explode", "orders/nothing", "orders/%3Cscript%3E"):
        answer = await seen.get(f"{SPRING}/{path}", "support")
        assert answer.status in {400, 404}
        assert not intruders(answer.text)
    nothing = await seen.get(f"{SPRING}/levers/retry?recipients=line:4711", "support")
    assert "There is nothing to do" in nothing.text
    assert "button-main" not in re.sub(r"<dialog.*</dialog>", "", nothing.text, flags=re.DOTALL)
    assert (await seen.get("/ns/shop/campaigns/gone/deadletters", "support")).status == 404


async def test_a_page_whose_campaign_was_deleted_meanwhile_says_so(console: Served) -> None:
    fields = form_of((await console.get(f"{SPRING}/levers/retry", "support")).text)
    await console.conn.execute("UPDATE sendonce.campaigns SET send_key = 'x', name = 'x' WHERE send_key = 'spring'")
    for answer in (
        await console.post(f"{SPRING}/levers/retry", fields, "support"),
        await console.get(f"{SPRING}/recipients", "support"),
        await console.get(f"{SPRING}/recipients/line:2", "support"),
    ):
        assert answer.status == 404
        assert "There is no campaign spring" in answer.text


async def test_a_message_is_found_by_the_far_ends_id_and_by_ours(console: Served) -> None:
    await console.conn.execute(
        "UPDATE sendonce.deliveries SET message_id = '<0100@far.example>' WHERE address = 'p4@example.com'"
    )
    theirs = await console.get("/search?q=%3C0100%40far.example%3E", "agent")
    assert theirs.headers["Location"] == f"{SPRING}/recipients/line%3A4"
    bare = await console.get("/search?q=0100%40far.example", "agent")
    assert bare.headers["Location"] == theirs.headers["Location"]
    rows = await console.conn.execute(
        "SELECT batch_id, no, left(key::text, 8) AS key FROM sendonce.deliveries WHERE address = 'p5@example.com'"
    )
    row = await rows.fetchone()
    assert row is not None
    ours = await console.get(f"/search?q={row['batch_id']}-{row['no']}-{row['key']}", "agent")
    assert ours.headers["Location"] == f"{SPRING}/recipients/line%3A5"
    foreign = await console.get(f"/search?q={row['batch_id']}-{row['no']}-00000000", "agent")
    assert (foreign.status, "Nobody is called" in foreign.text) == (200, True)
    assert (await console.get("/search?q=%3C0100%40far.example%3E", "teller")).status == 200


async def test_a_lever_says_what_it_will_do_does_it_once_and_is_recorded(console: Served) -> None:
    order = {"lever": "retry", "name": "again", "deliveries": {"recipients": ["c9"]}}
    status, said = await send(console, f"{API}/actions", {**order, "dryRun": True})
    assert (status, said["deliveries"]) == (200, 1)
    assert said["will"][0] == "1 delivery will be handed over again, with all attempts anew."
    assert (await console.json(f"{API}/actions", "viewer"))["items"] == []
    for _ in range(2):
        status, done = await send(console, f"{API}/actions", order)
        assert (status, done["message"]) == (200, "1 of 1 deliveries changed")
    (record,) = (await console.json(f"{API}/actions", "viewer"))["items"]
    assert (record["name"], record["requestedBy"], record["changed"]) == ("again", "support", 1)
