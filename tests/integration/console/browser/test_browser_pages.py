"""Every page in Chromium, light, dark and narrow: axe finds nothing, the browser says nothing, nothing overflows."""

from __future__ import annotations

import re

import pytest
from tests.console_cases.axe import COLOURS
from tests.integration.console.browser.conftest import Look
from tests.integration.console.browser.walk import FRAMES, PAGES, all_pages

from sendonce_console.app import ROUTES

pytestmark = pytest.mark.slow
in_the_browser = pytest.mark.asyncio(loop_scope="session")


def test_every_page_is_walked() -> None:
    pages = {route.path for route in ROUTES if route.method == "GET" and not route.is_api}
    assert pages == PAGES.keys() | FRAMES.keys()


@in_the_browser
@pytest.mark.parametrize("address", all_pages())
async def test_everybody_can_use_it(look: Look, address: str) -> None:
    found: dict[str, object] = {}
    async with look(address) as seen:
        assert await seen.page.locator("h1").count() == 1
        assert re.fullmatch(r"\S.* · Sendonce", await seen.page.title())
        found["light"] = await seen.violations()
        await seen.page.emulate_media(color_scheme="dark")
        found["dark"] = await seen.violations(COLOURS)
        await seen.page.emulate_media(color_scheme="light")
        await seen.page.set_viewport_size({"width": 360, "height": 780})
        found["narrow"] = await seen.violations()
        found["pixels too wide"] = await seen.too_wide()
        # the status of a page that is not there is news to the browser, not to us
        found["said"] = [line for line in seen.said if "status of 404" not in line]
    assert {name: problem for name, problem in found.items() if problem} == {}


@in_the_browser
async def test_a_reader_who_wants_less_motion_or_more_contrast_gets_it(look: Look) -> None:
    async with look(reduced_motion="reduce", contrast="more") as seen:
        moving = await seen.page.evaluate("document.getAnimations().length")
        soft, ink = await seen.page.evaluate(
            "['--soft', '--ink'].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name))"
        )
    assert moving == 0
    assert soft == ink


@in_the_browser
async def test_on_paper_there_is_no_menu(look: Look) -> None:
    async with look("/ns/shop/campaigns/welcome") as seen:
        await seen.page.emulate_media(media="print")
        assert not await seen.page.locator("header.top").is_visible()
        assert await seen.page.locator("h1").is_visible()
