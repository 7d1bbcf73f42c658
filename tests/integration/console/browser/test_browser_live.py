"""What stays fresh without reloading, what works without script, and what a reader is told when the console is away."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Route, expect
from tests.console_cases.town import campaign_document, person, send, sow
from tests.integration.console.browser.conftest import Look, Site

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.slow]


async def test_figures_change_without_reloading_and_the_focus_stays(look: Look, site: Site) -> None:
    people = [person(no, f"Fresh {no}", Email=f"fresh{no}@example.com") for no in range(3)]
    fresh = await sow(site.conn, campaign_document("shop", "fresh"), people)
    async with look("/ns/shop/campaigns/fresh") as seen:
        await seen.page.evaluate("window.marked = true")
        region = seen.page.locator("[data-live]").first
        before = await region.inner_text()
        await send(site.conn, fresh)
        await expect(region).not_to_have_text(before)
        await expect(seen.page.locator("main")).to_contain_text("All sent")
        assert await seen.page.evaluate("window.marked")
        assert seen.said == []


async def test_what_is_away_is_told_and_comes_back_by_itself(look: Look) -> None:
    async def away(route: Route) -> None:
        await route.abort()

    async def without_database(route: Route) -> None:
        await route.fulfill(status=503, body="<title>The database can't be reached</title>")

    async with look("/ns/shop/campaigns/spring") as seen:
        await seen.page.route("**/*", away)
        notice = seen.page.locator("#offline")
        await expect(notice).to_contain_text("The console can't be reached")
        await seen.page.unroute("**/*")
        await seen.page.route("**/*", without_database)
        await seen.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it looks at once
        await expect(notice).to_contain_text("The console answers")
        await seen.page.unroute("**/*")
        await expect(notice).to_be_hidden()


async def test_updates_can_be_paused(look: Look) -> None:
    async with look("/ns/shop/campaigns/spring") as seen:
        button = seen.page.get_by_role("button", name="Pause updates")
        await button.press("Enter")
        await expect(seen.page.locator("#live-switch")).to_have_attribute("aria-pressed", "true")
        await expect(seen.page.locator("#live-switch")).to_contain_text("Updates paused")
        await seen.page.keyboard.press("u")
        await expect(seen.page.locator("#live-switch")).to_have_attribute("aria-pressed", "false")


async def test_who_is_signed_out_meanwhile_is_told(look: Look) -> None:
    async with look("/ns/shop/campaigns/spring") as seen:
        await seen.page.context.clear_cookies()
        await expect(seen.page.locator("#offline")).to_contain_text("signed out")


async def test_times_speak_and_keep_their_exact_words(look: Look) -> None:
    async with look("/ns/shop/campaigns/spring", timezone_id="Asia/Tokyo") as seen:
        time = seen.page.locator("time[data-relative]").first
        await expect(time).to_have_text(re.compile(r"just now|ago$"))
        title = await time.get_attribute("title") or ""
        assert "UTC" in title
        assert "GMT+9" in title or "JST" in title


async def test_without_script_every_page_is_whole(look: Look) -> None:
    async with look("/ns/shop/campaigns/spring", scripts=False) as seen:
        assert await seen.page.locator("h1").inner_text() == "spring"
        assert "UTC" in await seen.page.locator("time").first.inner_text()
        assert not await seen.page.locator("button.copy").first.is_visible()
        await seen.page.locator("#find").fill("rob@example.com")
        await seen.page.locator("#find").press("Enter")
        await expect(seen.page.locator("main")).to_contain_text("550 5.1.1 <rob@example.com>: no such user")
        await seen.page.get_by_role("link", name="Try again").click()
        await expect(seen.page.locator("h1")).to_have_text("Try again")
