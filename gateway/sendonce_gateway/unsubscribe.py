"""One click and no more messages (RFC 8058): a link of a message in, an opt-out in the store out.

GET shows a page with a button and changes nothing, for scanners of mail follow every link. POST with the field
`List-Unsubscribe=One-Click` opts out, whether a mailbox provider sends it or the page's button; there is no redirect,
no cookie and no login. What is recorded already is a success too.
"""

from __future__ import annotations

from aiohttp import web

from sendonce_gateway.answering import words_for
from sendonce_gateway.bodies import read_body
from sendonce_gateway.forms import read_form
from sendonce_gateway.metrics import GatewayMetrics
from sendonce_gateway.opening import Opened, Opener
from sendonce_gateway.pages import button, form, link, page, paragraph
from sendonce_gateway.problems import Problem
from sendonce_gateway.settings import GatewaySettings
from sendonce_gateway.store import Pool
from sendonce_gateway.wording import Words, fill
from sendonce_store import gateway

__all__ = ["unsubscribe_routes"]

LONGEST_BODY = 4096
FIELD, VALUE = "List-Unsubscribe", "One-Click"


def unsubscribe_routes(pool: Pool, settings: GatewaySettings, metrics: GatewayMetrics) -> list[web.RouteDef]:
    """The routes under /u/."""
    opener = Opener(pool, settings, "unsubscribe")

    async def ask(request: web.Request) -> web.Response:
        return asking(await opener.open(request), words_for(request, settings.languages))

    async def act(request: web.Request) -> web.Response:
        fields = read_form(
            request.headers.get("Content-Type", ""), await read_body(request, LONGEST_BODY, settings.body_wait)
        )
        if VALUE not in fields.get(FIELD, ()):
            raise Problem(400, "no_one_click", f"nothing was changed: the request has no {FIELD}={VALUE}")
        opened = await opener.open(request)
        way = "page" if "page" in fields else "one-click"
        async with pool.connection() as conn:
            if await gateway.opt_out(conn, opened.namespace, opened.wish, way):
                metrics.wished("out", way)
        return done(opened, settings.public_url, words_for(request, settings.languages))

    return [web.get("/u/{token}", ask), web.post("/u/{token}", act)]


def asking(opened: Opened, words: Words) -> web.Response:
    """The page with the button."""
    text = fill(words.unsubscribe_text, about=words.about(opened.wish))
    press = form(button(words.unsubscribe_button, FIELD, VALUE), page="1")
    return page(words.language, words.unsubscribe_title, paragraph(text), press)


def done(opened: Opened, public_url: str, words: Words) -> web.Response:
    """The page after it."""
    text = fill(words.unsubscribed_text, about=words.about(opened.wish))
    choose = link(words.preferences_link, f"{public_url}/p/{opened.token_for('preferences')}")
    return page(words.language, words.unsubscribed_title, paragraph(text), choose)
