"""Search, the page of a person and the list of recipients, as people see them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.console_cases.markup import intruders
from tests.console_cases.town import HOSTILE
from tests.sealed import gives_away

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served

# tests that only look share a console
pytestmark = pytest.mark.asyncio(loop_scope="session")
SPRING = "/ns/shop/campaigns/spring"


@pytest.mark.parametrize("text", ["mia@example.com", " MIA@Example.com ", "c10"], ids=["address", "written", "id"])
async def test_one_person_is_found_at_once(seen: Served, text: str) -> None:
    answer = await seen.get(f"/search?q={text.replace(' ', '%20')}", "agent")
    assert answer.status == 303
    assert answer.headers["Location"] == f"{SPRING}/recipients/line%3A10"  # nothing personal in an address of ours


async def test_what_is_looked_for_stands_in_no_address(seen: Served) -> None:
    beginning = "p3@example.c"
    asked = await seen.post("/search", {"q": f" {beginning} "}, "agent", page="/search")
    assert asked.status == 303
    where = asked.headers["Location"]
    assert where.startswith("/search?find=")
    assert not gives_away(where, beginning)
    found = await seen.get(where, "agent")
    links = re.findall(r'href="(/search\?[^"]*)"', found.text)
    assert (len(links), "p3@example.com" in found.text) == (1, True)
    assert not gives_away(links[0], beginning)
    person = await seen.get(links[0], "agent")
    assert "/recipients/line%3A" in person.headers["Location"]
    for wrong in (where[:-9], "/search?find=gAAAAA", "/search?find=%FF"):
        again = await seen.get(wrong, "agent")
        assert (again.status, "Find a person" in again.text, beginning in again.text) == (200, True, False)
    nothing = await seen.post("/search", {"q": "  "}, "agent", page="/search")
    assert nothing.headers["Location"] == "/search"


async def test_whoever_may_see_nobody_finds_nobody_by_a_sealed_search_of_another(seen: Served) -> None:
    asked = await seen.post("/search", {"q": "mia@example.com"}, "agent", page="/search")
    unseen = await seen.get(asked.headers["Location"], "viewer")
    assert (unseen.status, "Nobody is called" in unseen.text) == (200, True)


async def test_a_number_is_found_however_it_is_written(seen: Served) -> None:
    answer = await seen.get("/search?q=%2B1%20(500)%20555-0006", "agent")
    assert answer.headers["Location"] == "/ns/shop/campaigns/welcome/recipients/line%3A2"


async def test_the_beginning_of_an_address_is_enough(seen: Served) -> None:
    found = await seen.get("/search?q=p3%40", "agent")
    assert "p3@example.com" in found.text
    assert "p4@example.com" not in found.text
    assert found.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("p", 200, "Nobody is called “p”"),
        ("p3", 200, "Nobody is called “p3”"),
        ("", 200, "Find a person"),
        ("x" * 400, 400, "400 characters long"),
        ("a%00b", 400, "a control character"),
        ("%22%3E%3Cscript%3Ealert(1)%3C/script%3Ex", 200, "Nobody is called"),
        ("line:10", 200, "Nobody is called"),
    ],
)
async def test_what_can_not_be_found_says_why(seen: Served, text: str, status: int, words: str) -> None:
    answer = await seen.get(f"/search?q={text}", "agent")
    assert answer.status == status
    assert words in answer.text
    assert not intruders(answer.text)


async def test_nobody_finds_another_teams_people(seen: Served) -> None:
    assert (await seen.get("/search?q=banker%40example.com", "agent")).status == 200
    assert (await seen.get("/search?q=banker%40example.com", "teller")).status == 303
    for path in ("/ns/bank/campaigns/statement/recipients", "/ns/bank/campaigns/statement/recipients/line:2"):
        assert (await seen.get(path, "support")).status == 404
    # who may see campaigns alone sees nobody
    unseen = await seen.get("/search?q=mia%40example.com", "viewer")
    assert (unseen.status, "Nobody is called" in unseen.text) == (200, True)
    for path in (f"{SPRING}/recipients", f"{SPRING}/recipients/line:10", f"{SPRING}/recipients/line:10/content/Email"):
        assert (await seen.get(path, "viewer")).status == 403


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("line:2", ["Sent on", "content verified", "p2@example.com", "message id m-1", "Dear Person 2, news!"]),
        ("c9", ["Not sent: failed", "The far end refused it for good.", "550 5.1.1 &lt;rob@example.com&gt;", "5.1.1"]),
        ("mia@example.com", ["Uncertain since", "no answer said whether it was taken", "Resolve as sent"]),
        ("line:11", ["Not sent yet", "The next attempt is due at", "451 try again"]),
        ("c13", ["Not sent: suppressed", "on the suppression list", "complained", "a form", "nothing went out"]),
    ],
)
async def test_a_persons_page_answers_at_one_look(seen: Served, who: str, words: list[str]) -> None:
    shown = await seen.get(f"{SPRING}/recipients/{who}", "support")
    assert shown.status == 200
    for word in words:
        assert word.lower() in shown.text.lower()
    assert shown.headers["Cache-Control"] == "no-store"


async def test_who_may_not_pull_levers_is_offered_none(seen: Served) -> None:
    assert "Resolve as sent" not in (await seen.get(f"{SPRING}/recipients/line:10", "agent")).text


async def test_hostile_names_and_answers_stay_text(seen: Served) -> None:
    for path in (f"{SPRING}/recipients/line:12", f"{SPRING}/recipients", f"{SPRING}/recipients/c9"):
        shown = await seen.get(path, "support")
        assert shown.status == 200
        assert not intruders(shown.text), path
    assert HOSTILE not in (await seen.get(f"{SPRING}/recipients", "support")).text


async def test_a_templates_html_has_no_origin_and_runs_nothing(seen: Served) -> None:
    page = await seen.get(f"{SPRING}/recipients/line:2", "agent")
    (frame,) = re.findall(r"<iframe[^>]*>", page.text)
    assert 'sandbox=""' in frame
    source = re.search(r'src="([^"]+)"', frame)
    assert source is not None
    document = await seen.get(source[1], "agent")
    policy = document.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'")
    assert "allow-" not in policy
    assert "script-src" not in policy
    assert "<script>parent.document.title" in document.text  # as it went out: the frame disarms it, not a rewriting
    assert document.headers["Cache-Control"] == "no-store"
    assert document.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_channel_without_html_is_an_empty_frame(seen: Served) -> None:
    answer = await seen.get("/ns/shop/campaigns/welcome/recipients/line:2/content/SMS", "agent")
    assert answer.status == 200
    assert "no HTML" in answer.text


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("line:14", "Line 14 of the source was refused"),
        ("line:4711", "Line 4711 is no recipient of spring"),
        ("line:99999999999999999999", "is no recipient of spring"),
        ("line:9223372036854775808", "is no recipient of spring"),
        ("nobody", "This is no recipient of spring"),
        ("%00", "This is no recipient of spring"),
        ("%3Cscript%3Ealert(1)%3C%2Fscript%3E", "This is no recipient of spring"),
        ("..%2F..%2Fetc", "This is no recipient of spring"),
    ],
)
async def test_who_is_not_there_is_a_clear_page(seen: Served, who: str, words: str) -> None:
    answer = await seen.get(f"{SPRING}/recipients/{who}", "agent")
    assert answer.status == 404
    assert words in answer.text
    assert not intruders(answer.text)


async def test_the_list_of_recipients_is_filtered_and_goes_on(seen: Served) -> None:
    failed = await seen.get(f"{SPRING}/recipients?state=failed&state=uncertain", "agent")
    assert ("rob@example.com" in failed.text, "mia@example.com" in failed.text) == (True, True)
    assert "p2@example.com" not in failed.text
    by_code = await seen.get(f"{SPRING}/recipients?code=5.1.1&reason=Permanent", "agent")
    assert re.findall(r"[a-z0-9]+@example.com", by_code.text)[0] == "rob@example.com"
    assert (
        "This is behind the end of the list." in (await seen.get(f"{SPRING}/recipients?after=999999-1", "agent")).text
    )
    assert "Everybody has an address." in (await seen.get(f"{SPRING}/recipients?state=unreachable", "agent")).text


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=x", "after"),
        ("after=-1--1", "after"),
        ("after=99999999999999999999-1", "after"),
        ("state=gone", "state"),
        ("channel=Pigeon", "channel"),
        ("code=" + "9" * 80, "code"),
        ("code=a%00b", "code"),
    ],
)
async def test_a_filter_that_can_not_be_is_named(seen: Served, query: str, field: str) -> None:
    answer = await seen.get(f"{SPRING}/recipients?{query}", "agent")
    assert answer.status == 400
    assert f"{field}: " in answer.text


async def test_a_person_of_two_campaigns_is_seen_in_both(seen: Served) -> None:
    shown = await seen.get("/ns/shop/campaigns/welcome/recipients/line:2", "agent")
    assert "No other campaign has written to this address" in shown.text
    assert shown.text.count("Sent on") >= 2  # Email and SMS
