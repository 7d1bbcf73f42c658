"""A campaign file before it is applied: errors by line, rendered for chosen recipients. Sends nothing, keeps nothing.

GET  /preview         a form for the text, or a file
POST /preview         what it would send
POST /preview/frame   the HTML of one message back, as a document without an origin: the pages keep no content
"""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus

from aiohttp import web

from sendonce_console.views.previewing import Asked, Previewed, preview, source_lines
from sendonce_console.web.headers import framed
from sendonce_console.web.problems import ProblemError, bad_request
from sendonce_console.web.routes import Routes
from sendonce_console.web.templating import page
from sendonce_console.web.visit import Visit

routes = Routes()
SECONDS = 20.0
FORMS = ("CSV", "NDJSON")
_LOOKS = ("light", "dark", "narrow")
_DARK = re.compile(r"(@media[^{]*)\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)", re.IGNORECASE)
_slots = asyncio.Semaphore(2)


def read_asked(given: dict[str, str], gateway: str | None) -> Asked:
    """The fields of a form or of a program. Raises ProblemError."""
    text = given.get("file") or given.get("text") or ""
    if not text.strip():
        raise bad_request("text", "is empty", "Paste a campaign, or choose its file.")
    form = given.get("format") or "CSV"
    if form not in FORMS:
        raise bad_request("format", f"{form[:20]} is none there is", f"Use {' or '.join(FORMS)}.")
    who = [one.strip() for one in re.split(r"[,;\n]", given.get("who") or "") if one.strip()]
    return Asked(text.replace("\r\n", "\n"), given.get("people") or "", form, who, gateway)


async def previewed(asked: Asked, namespace: str) -> Previewed:
    """One after the other, and not for ever: templates are somebody's programs. Raises ProblemError."""
    try:
        async with asyncio.timeout(SECONDS), _slots:
            return await preview(asked, namespace)
    except TimeoutError:
        detail = "Give fewer recipients, or a simpler template; or try again in a moment, others may be at it."
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "The preview takes too long", detail) from None


@routes.get("/preview", needs="sign-in", reads=False)
async def form(visit: Visit) -> web.Response:
    """The form."""
    return page(visit, "preview.html", asked=Asked(""), found=None, blocks=(), forms=FORMS, looks=_LOOKS)


@routes.post("/preview", needs="sign-in", reads=False)
async def show(visit: Visit) -> web.Response:
    """The messages, or the mistakes."""
    asked = read_asked(dict(visit.form), visit.console.settings.gateway_url)
    found = await previewed(asked, "default")
    blocks = source_lines(asked.text, found.mistakes)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if found.mistakes else HTTPStatus.OK
    return page(visit, "preview.html", status, asked=asked, found=found, blocks=blocks, forms=FORMS, looks=_LOOKS)


@routes.post("/preview/frame", needs="sign-in", reads=False)
async def frame(visit: Visit) -> web.Response:
    """What the form carries, in a document that has no origin, runs nothing and loads nothing."""
    return framed(in_look(visit.form.get("html", ""), visit.form.get("look", "light")))


def in_look(html: str, look: str) -> str:
    """HTML on a light or a dark ground, with the template's own rules for that made to count."""
    scheme = "dark" if look == "dark" else "light"

    def rule(found: re.Match[str]) -> str:
        counts = found[2].lower() == scheme
        return f"{found[1]}(min-width: {0 if counts else 99999}px)"

    return f'<!doctype html><meta name="color-scheme" content="{scheme}">{_DARK.sub(rule, html)}'
