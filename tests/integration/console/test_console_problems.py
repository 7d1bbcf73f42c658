"""A page that says what went wrong keeps the menu of whoever is known, and shows nobody's to anybody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.console_cases.markup import intruders
from tests.integration.console.test_console_levers import form_of

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served

SPRING = "/ns/shop/campaigns/spring"
MENU, OUT = '<nav class="menu" aria-label="Main">', 'action="/sign-out"'


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nowhere", 404),
        ("/ns/bank/campaigns/statement", 404),
        (f"{SPRING}/campaigns/nothing", 404),
        (f"{SPRING}/recipients", 403),
        (f"{SPRING}/deadletters?state=nonsense", 400),
    ],
)
async def test_whoever_is_known_finds_the_way_on(seen: Served, path: str, status: int) -> None:
    shown = await seen.get(path, "viewer")
    assert shown.status == status
    for wanted in (MENU, OUT, 'title="Signed in as viewer"', 'id="find"', 'href="/providers"'):
        assert wanted in shown.text
    assert shown.headers["Cache-Control"] == "no-store"


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), (SPRING, 401)])
async def test_nobody_gets_no_menu(seen: Served, path: str, status: int) -> None:
    shown = await seen.get(path, None)
    assert shown.status == status
    for menu in (MENU, OUT, "Signed in as", 'id="find"'):
        assert menu not in shown.text


@pytest.mark.asyncio(loop_scope="session")
async def test_what_is_asked_for_is_never_markup(seen: Served) -> None:
    hostile = "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E"
    for path in (f"/ns/{hostile}/campaigns/x", f"/{hostile}", f"{SPRING}/levers/{hostile}?q={hostile}"):
        shown = await seen.get(path, "viewer")
        assert shown.status == 404
        assert not intruders(shown.text)


async def test_the_form_of_a_problem_page_is_good(console: Served) -> None:
    """Signing out works from there, also where it is the first page of a browser."""
    asked = form_of((await console.get(f"{SPRING}/levers/suspend", "admin")).text)
    del asked["csrf"]
    console.session.cookie_jar.clear()
    done = await console.post(f"{SPRING}/levers/suspend", asked, "admin", page="/nowhere")
    assert done.status == 303
