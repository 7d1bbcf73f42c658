"""A hostile template in the console: shown as people got it, in a frame that runs and loads nothing and is nobody's."""

from __future__ import annotations

import pytest
from playwright.async_api import Frame, expect
from tests.console_cases.town import campaign_document, person, send, sow
from tests.integration.console.browser.conftest import Look, Seen, Site

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.slow]
NAME = "hostile-letter"
# Everything by which a document could get at the page around it, at its origin, or at somebody else's machine.
HOSTILE = """
<script>parent.document.title = 'taken'; top.location = '/taken-by-script'; fetch('/taken-by-fetch')</script>
<meta http-equiv="refresh" content="0; url=/taken-by-refresh">
<base href="/taken-base/"><link rel="stylesheet" href="/taken.css"><style>@import '/taken-import.css';
  p { background: url('/taken-by-style'); }</style>
<p onmouseover="parent.document.title = 'taken'">Dear {{ name }}, <b id="news">news</b>!</p>
<img src="/taken-by-picture" onerror="parent.document.title = 'taken'"><iframe src="/taken-by-frame"></iframe>
<object data="/taken-by-object"></object><svg><script>parent.document.title = 'taken'</script></svg>
<form action="/sign-out" method="post" id="form"><button id="button">Unsubscribe</button></form>
<a id="link" href="/taken-by-link" target="_top">Look</a>
<a id="code" href="javascript:top.document.title='taken'">Go</a>
"""
FILE = """apiVersion: sendonce.dev/v1alpha1
kind: NotificationCampaign
metadata: {name: looks}
spec:
  category: Marketing
  recipients: {inline: [{id: c1, email: mia@example.com, variables: {name: Mia}}]}
  messages:
  - channel: Email
    providerRef: {name: mail}
    template:
      from: news@example.com
      subject: Hello
      text: Dear {{ name }}
      html: |
        <style>body { background: #fafafa; }
        @media (prefers-color-scheme: dark) { body { background: #0a0a0a; } }</style>
        <p>Dear {{ name }}</p><script>parent.document.title = 'taken'</script>
---
apiVersion: sendonce.dev/v1alpha1
kind: NotificationProvider
metadata: {name: mail}
spec: {type: SMTP, smtp: {host: 127.0.0.1, port: 25, tls: None}}
"""


async def letter(site: Site) -> str:
    """The page of a person who got a hostile letter."""
    document = campaign_document("shop", NAME)
    template = document.spec.messages[0].template.model_copy(update={"html": HOSTILE})
    message = document.spec.messages[0].model_copy(update={"template": template})
    spec = document.spec.model_copy(update={"messages": (message,)})
    sown = await sow(
        site.conn, document.model_copy(update={"spec": spec}), [person(2, "Mia", Email="mia2@example.com")]
    )
    await send(site.conn, sown)
    return f"/ns/shop/campaigns/{NAME}/recipients/line:2"


async def framed(seen: Seen) -> Frame:
    """The frame with the letter, once it is there."""
    frame = seen.page.frame_locator("iframe").first
    await seen.page.locator("iframe").first.scroll_into_view_if_needed()
    await expect(frame.locator("#news")).to_have_text("news")
    return next(one for one in seen.page.frames if one.parent_frame)


async def test_a_hostile_letter_is_seen_and_can_do_nothing(look: Look, site: Site) -> None:
    address = await letter(site)
    async with look(address) as seen:
        frame = await framed(seen)
        # held twice: by the frame itself, and by the document's own policy (the test below)
        assert await seen.page.locator("iframe").first.get_attribute("sandbox") == ""
        assert await frame.evaluate("self.origin") == "null"
        for target in ("#button", "#link", "#code"):
            # the letter's own words can be clicked, and lead nowhere
            await seen.page.frame_locator("iframe").first.locator(target).click()
        await seen.page.frame_locator("iframe").first.locator("p").hover()
        assert "taken" not in await seen.page.title()
        assert seen.page.url.endswith(address) or seen.page.url.endswith(address.replace(":", "%3A"))
        # a way to leave the frame in time: the page still answers, and nobody was asked
        await seen.page.evaluate("new Promise((done) => requestIdleCallback(done))")
        assert not [url for url in seen.answered if "taken" in url or "sign-out" in url]


async def test_a_letter_opened_by_itself_has_no_origin_either(look: Look, site: Site) -> None:
    async with look(f"/ns/shop/campaigns/{NAME}/recipients/line:2/content/Email") as seen:
        assert await seen.page.evaluate("self.origin") == "null"
        assert (
            await seen.page.evaluate("(() => { try { return document.cookie } catch { return 'refused' } })()")
            == "refused"
        )
        assert "taken" not in await seen.page.title()
        assert not [url for url in seen.answered if "taken" in url]


async def test_a_hostile_name_and_answer_are_words_on_every_page(look: Look) -> None:
    spring = "/ns/shop/campaigns/spring"
    async with look() as seen:
        await seen.page.add_init_script("window.alert = () => { document.title = 'taken' }")
        for path in (spring, f"{spring}/deadletters", f"{spring}/recipients", f"{spring}/recipients/line:12"):
            await seen.go(path)
            assert await seen.page.locator("main script, main img").count() == 0
            assert "taken" not in await seen.page.title()
        assert seen.said == []


async def test_a_campaign_file_is_seen_in_three_looks_and_its_mistakes_by_line(look: Look) -> None:
    async with look("/preview") as seen:
        page = seen.page
        await page.get_by_label("Campaign, as YAML").fill(FILE)
        await page.get_by_role("button", name="Show").click()
        for no, ground in enumerate(("rgb(250, 250, 250)", "rgb(10, 10, 10)", "rgb(250, 250, 250)")):
            body = page.frame_locator("iframe >> nth=" + str(no)).locator("body")
            await expect(body).to_contain_text("Dear Mia")
            await expect(body).to_have_css("background-color", ground)
        assert "taken" not in await page.title()
        assert await seen.violations() == []
        assert seen.said == []
        await page.get_by_label("Campaign, as YAML").fill(FILE.replace("category:", "kategory:"))
        await page.get_by_role("button", name="Show").click()
        await expect(page.get_by_role("alert")).to_contain_text("Line 5: ")
        await expect(page.locator(".source .wrong").last).to_contain_text("kategory: Marketing")
        assert await seen.violations() == []
