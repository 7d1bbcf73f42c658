"""The console by keyboard alone: no test here touches a mouse."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from tests.console_cases.town import REFUSED, campaign_document, person, send, sow
from tests.integration.console.browser.conftest import Look, Site

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.slow]
SPRING = "/ns/shop/campaigns/spring"
_OUTLINED = """() => {
  const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
}"""
_COVERED = """() => {
  const bar = document.querySelector('.top');
  if (document.activeElement.closest('.top, .skip') || getComputedStyle(bar).position !== 'sticky') return false;
  return document.activeElement.getBoundingClientRect().bottom <= bar.getBoundingClientRect().bottom;
}"""


async def tab_to(page: Page, text: str, *, most: int = 80) -> None:
    """Press Tab until what has the focus says this."""
    for _ in range(most):
        await page.keyboard.press("Tab")
        said = await page.evaluate("(document.activeElement.textContent || '').trim()")
        if said == text:
            return
    raise AssertionError(f"{most} times Tab did not lead to {text!r}")


async def test_somebody_is_found_understood_and_tried_again_without_a_mouse(look: Look, site: Site) -> None:
    people = [person(2, "Sue", "c-sue", Email="sue@example.com")]
    refused = await sow(site.conn, campaign_document("shop", "by-keyboard"), people)
    await send(site.conn, refused, {"sue@example.com": REFUSED})
    async with look() as seen:
        await seen.page.keyboard.press("/")
        await seen.page.keyboard.type("sue@example.com")
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.locator(".answer")).to_contain_text("The far end refused it for good.")
        await tab_to(seen.page, "Try again")
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.locator("h1")).to_have_text("Try again")
        await expect(seen.page.locator("form.confirm")).to_contain_text("1 delivery")
        await tab_to(seen.page, "Try again")
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.locator("main")).to_contain_text("Done")
        await tab_to(seen.page, "by-keyboard")
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.locator(".figure", has_text="Left").locator("strong")).to_have_text("1")
        assert seen.said == []


async def test_a_person_who_thinks_better_of_it_leaves_everything_as_it_is(look: Look) -> None:
    async with look(f"{SPRING}/deadletters") as seen:
        await tab_to(seen.page, "Send again")
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.locator("form.confirm")).to_contain_text("twice")
        await seen.page.keyboard.press("Escape")
        await seen.page.wait_for_url("**/deadletters")
        assert await seen.page.get_by_role("link", name="Send again").count() == 1


async def test_the_first_tab_skips_to_the_content(look: Look) -> None:
    async with look() as seen:
        await seen.page.keyboard.press("Tab")
        assert await seen.focused() == "Skip to the content"
        await seen.page.keyboard.press("Enter")
        assert await seen.page.evaluate("document.activeElement.id") == "content"


async def test_whatever_has_the_focus_can_be_seen_to_have_it(look: Look) -> None:
    async with look(SPRING) as seen:
        for _ in range(40):
            await seen.page.keyboard.press("Tab")
            if await seen.page.evaluate("document.activeElement === document.body"):
                break
            assert await seen.page.evaluate(_OUTLINED), await seen.focused()
            assert not await seen.page.evaluate(_COVERED), await seen.focused()


async def test_a_letter_leads_to_each_part_and_a_question_mark_tells_them(look: Look) -> None:
    async with look(SPRING) as seen:
        await seen.page.keyboard.press("?")
        assert await seen.page.locator("dialog[open]").is_visible()
        assert "Find a person" in await seen.page.locator("dialog").inner_text()
        await seen.page.keyboard.press("Escape")
        assert not await seen.page.locator("dialog[open]").count()
        await seen.page.keyboard.press("g")
        await seen.page.keyboard.press("v")
        await seen.page.wait_for_url("**/providers")
        await seen.page.keyboard.press("g")
        await seen.page.keyboard.press("c")
        await seen.page.wait_for_url(f"{seen.base}/")


async def test_rows_of_a_list_are_walked_and_opened(look: Look) -> None:
    async with look() as seen:
        await seen.page.keyboard.press("j")
        first = await seen.focused()
        await seen.page.keyboard.press("j")
        assert await seen.focused() != first
        await seen.page.keyboard.press("k")
        assert await seen.focused() == first
        await seen.page.keyboard.press("Enter")
        await seen.page.wait_for_url("**/campaigns/*")
        assert first in await seen.page.locator("h1").inner_text()


async def test_pages_of_a_long_list_are_turned(look: Look, site: Site) -> None:
    people = [person(no, "", f"m{no}", Email=f"many{no}@example.com") for no in range(1, 151)]
    await sow(site.conn, campaign_document("shop", "many"), people)
    async with look("/ns/shop/campaigns/many/recipients") as seen:
        assert await seen.page.locator("tbody tr").count() == 100
        await seen.page.keyboard.press("n")
        await expect(seen.page.locator("tbody tr")).to_have_count(50)
        await seen.page.keyboard.press("p")
        await expect(seen.page.locator("tbody tr")).to_have_count(100)


async def test_keys_can_be_switched_off_and_stay_so(look: Look) -> None:
    async with look() as seen:
        await seen.page.keyboard.press("?")
        await seen.page.get_by_label("Use these keys").press("Space")
        await seen.page.keyboard.press("Escape")
        await seen.go(SPRING)
        await seen.page.keyboard.press("/")
        assert await seen.page.evaluate("document.activeElement.id") != "find"


async def test_letters_typed_into_a_field_are_text(look: Look) -> None:
    async with look() as seen:
        await seen.page.keyboard.press("/")
        assert await seen.page.evaluate("document.activeElement.id") == "find"
        await seen.page.keyboard.type("g?j/")
        assert await seen.page.locator("#find").input_value() == "g?j/"
        assert not await seen.page.locator("dialog[open]").count()
