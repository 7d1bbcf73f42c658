"""The list of campaigns and the page of one: what they say, for whom, and how they go on behind a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.console_cases.town import HOSTILE, campaign_document, person, sow

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served


def words_of(html: str) -> str:
    """What is to be read on a page."""
    text = re.sub(r"<[^>]+>", " ", html)
    return " ".join(text.split())


async def test_the_list_says_how_each_stands_and_who_applied_it(console: Served) -> None:
    await console.conn.execute(
        "UPDATE sendonce.campaigns SET applied_by = 'kubectl-client-side-apply' WHERE name = 'spring'"
    )
    said = words_of((await console.get("/", "viewer")).text)
    assert "spring shop Retrying" in said
    assert "welcome shop All sent" in said
    assert "kubectl-client-side-apply" in said


async def test_the_list_can_be_narrowed_and_turned_page_by_page(console: Served) -> None:
    for no in range(30):
        await sow(
            console.conn, campaign_document("shop", f"wave-{no:02}"), [person(2, "Mia", "c1", Email="mia@example.com")]
        )
    shown = await console.get("/?q=wave", "viewer")
    first = re.findall(r"/campaigns/(wave-\d\d)\"", shown.text)
    assert first == [f"wave-{no:02}" for no in range(29, 4, -1)]
    following = re.search(r'href="(/\?[^"]*after=\d+[^"]*)"', shown.text)
    assert following is not None
    second = await console.get(following[1].replace("&amp;", "&"), "viewer")
    assert re.findall(r"/campaigns/(wave-\d\d)\"", second.text) == [f"wave-{no:02}" for no in range(4, -1, -1)]
    assert "after=" not in second.text
    retrying = await console.get("/?state=Retrying", "viewer")
    assert re.findall(r"/campaigns/([\w-]+)\"", retrying.text) == ["spring"]
    ended = await console.get("/?state=AllSent&namespace=shop", "viewer")
    assert re.findall(r"/campaigns/([\w-]+)\"", ended.text) == ["welcome"]


async def test_what_can_not_be_asked_for_is_said_so(console: Served) -> None:
    for path, status, said in (
        ("/?state=Flying", 400, "is no state of a campaign"),
        ("/?after=x", 400, "is not a place in the list"),
        ("/?after=" + "9" * 400, 400, "is not a place in the list"),
        ("/?q=" + "x" * 200, 400, "is longer than 100 characters"),
        ("/?namespace=bank", 404, "nothing to see in namespace bank"),
        ("/ns/shop/campaigns/nothing", 404, "There is no campaign nothing"),
        ("/nowhere", 404, "There is no such page"),
        ("/?q=%00", 400, "has a character that no name or address here has"),
        ("/ns/shop/campaigns/a%00b", 400, "has a character that no name or address here has"),
        ("/ns/shop/campaigns/a%00b/proof", 400, "has a character that no name or address here has"),
    ):
        answer = await console.get(path, "viewer")
        assert answer.status == status, path
        assert said in answer.text
        assert "Traceback" not in answer.text
    behind = await console.get("/?after=0", "viewer")
    assert behind.status == 200
    assert "No campaigns" in behind.text


async def test_the_page_of_a_campaign_adds_up(console: Served) -> None:
    shown = words_of((await console.get("/ns/shop/campaigns/spring", "agent")).text)
    # 12 people, one row refused; 8 sent, one each failed, uncertain, waiting, suppressed
    assert "13 rows of the list − 0 duplicates − 1 refused = 12 people" in shown
    for state in (
        "Sent 8",
        "Sending 0",
        "Pending 1",
        "Failed 1",
        "Uncertain 1",
        "Suppressed 1",
        "Expired 0",
        "Cancelled 0",
    ):
        assert state in shown
    assert "no such user" in shown
    assert "rob@example.com" in shown
    assert "worker-spring" in shown
    both = words_of((await console.get("/ns/shop/campaigns/welcome", "agent")).text)
    assert "Email 2 2 0 0 0 0 0 0 0 SMS 1 1 0 0 0 0 0 0 0" in both
    for happened in ("Applied", "Imported", "A worker started"):
        assert happened in shown


async def test_without_the_right_to_people_addresses_are_masked(console: Served) -> None:
    for path in ("/ns/shop/campaigns/spring", "/ns/shop/campaigns/spring/content", "/"):
        shown = await console.get(path, "viewer")
        assert shown.status == 200
        assert "@example.com" not in shown.text.replace("news@example.com", "").replace("r***@example.com", ""), path
        assert "Recipients" not in words_of(shown.text)
    assert "r***@example.com" in (await console.get("/ns/shop/campaigns/spring", "viewer")).text


async def test_nothing_of_a_hostile_answer_or_name_becomes_markup(console: Served) -> None:
    shown = await console.get("/ns/shop/campaigns/spring", "agent")
    assert "<img src=x" not in shown.text
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown.text
    assert HOSTILE not in shown.text
    policy = shown.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "frame-ancestors 'none'" in policy
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    assert shown.headers["Cache-Control"] == "no-store"
    assert "style=" not in shown.text
    assert not re.search(r"<script(?![^>]*\bsrc=)", shown.text)


async def test_the_content_is_shown_with_samples_in_a_document_without_an_origin(console: Served) -> None:
    shown = await console.get("/ns/shop/campaigns/spring/content", "viewer")
    assert "Hello «name»" in shown.text
    assert re.search(r'<iframe[^>]*src="/ns/shop/campaigns/spring/content/Email"[^>]*sandbox=""', shown.text)
    frame = await console.get("/ns/shop/campaigns/spring/content/Email", "viewer")
    assert "<script>parent.document" in frame.text
    policy = frame.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "allow-scripts" not in policy
    assert frame.headers["Cache-Control"] == "no-store"
    assert (await console.get("/ns/shop/campaigns/spring/content/Fax", "viewer")).status == 404


async def test_a_worker_that_fell_silent_is_told(console: Served) -> None:
    silent = "UPDATE sendonce.workers SET heartbeat_at = now() - interval '5 minutes' WHERE id = 'worker-spring'"
    await console.conn.execute(silent)
    shown = words_of((await console.get("/ns/shop/campaigns/spring", "viewer")).text)
    assert "A worker fell silent" in shown
    assert "5 min ago" in shown


async def test_a_campaign_that_goes_while_it_is_looked_at_is_a_clear_page(console: Served) -> None:
    assert (await console.get("/ns/shop/campaigns/welcome", "viewer")).status == 200
    for table in ("channels", "workers", "batches"):
        await console.conn.execute(f"DELETE FROM sendonce.{table} WHERE campaign_id = %s", [console.town.welcome.id])  # noqa: S608
    await console.conn.execute("DELETE FROM sendonce.campaigns WHERE id = %s", [console.town.welcome.id])
    gone = await console.get("/ns/shop/campaigns/welcome", "viewer")
    assert gone.status == 404
    assert "its record was deleted" in gone.text


async def test_what_a_worker_or_an_end_says_is_masked_as_well(console: Served) -> None:
    said = "the sender news@example.com of rob@example.com is refused"
    await console.conn.execute("UPDATE sendonce.workers SET problem = %s WHERE id = 'worker-spring'", [said])
    await console.conn.execute("UPDATE sendonce.campaigns SET ended_message = %s WHERE name = 'welcome'", [said])
    for name in ("spring", "welcome"):
        for path in (f"/ns/shop/campaigns/{name}", f"/api/v1/namespaces/shop/campaigns/{name}", "/"):
            assert "rob@example.com" not in (await console.get(path, "viewer")).text, path
        assert "rob@example.com" in (await console.get(f"/ns/shop/campaigns/{name}", "agent")).text
