"""Who sees what: a walk over all routes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from sendonce_console.app import ROUTES

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served


async def test_the_list_shows_the_campaigns_of_the_viewers_namespaces_alone(console: Served) -> None:
    for who, seen, unseen in (("viewer", "spring", "statement"), ("teller", "statement", "spring")):
        shown = await console.get("/", who)
        assert shown.status == 200
        assert seen in shown.text
        assert unseen not in shown.text


async def test_a_foreign_namespace_and_one_that_is_not_there_are_the_same(console: Served) -> None:
    foreign = await console.get("/ns/bank/campaigns/statement", "viewer")
    unknown = await console.get("/ns/nobody/campaigns/statement", "viewer")
    unknown_to_all = await console.get("/ns/empty/campaigns/statement", "admin")
    assert [foreign.status, unknown.status, unknown_to_all.status] == [404] * 3
    assert foreign.text.replace("bank", "nobody") == unknown.text
    assert unknown.text.replace("nobody", "empty").replace("viewer", "admin") == unknown_to_all.text, "but for the name"


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_says_what_it_needs(route: object) -> None:
    assert route.needs in {"campaigns", "people", "levers", "sign-in"}  # type: ignore[attr-defined]


async def test_without_a_name_nothing_is_shown(console: Served) -> None:
    for route in ROUTES:
        path = re.sub(r"\{\w+\}", "spring", route.path)
        answer = await (console.get(path, None) if route.method == "GET" else console.post(path, {}, None))
        assert answer.status == 401, path


async def test_what_another_sites_page_sends_is_refused_whoever_is_named(console: Served) -> None:
    """As where an authenticating proxy adds the token of a user who looks at somebody else's page."""
    path = "/api/v1/namespaces/shop/campaigns/spring/actions"
    for headers, status in (
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ):
        asked = {"Authorization": "Bearer support", "Content-Type": "application/json", **headers}
        async with console.session.post(console.base + path, data="{}", headers=asked) as answer:
            assert answer.status == status, headers
    pages = [route for route in ROUTES if route.method == "POST" and not route.is_api]
    assert pages
    for route in pages:
        page = re.sub(r"{\w+}", "spring", route.path.replace("{namespace}", "shop"))
        named = {"Authorization": "Bearer support", "Accept": "text/html"}
        async with console.session.post(console.base + page, data={}, headers=named) as answer:
            assert answer.status == 403, page
            assert "The form was not accepted" in await answer.text()
