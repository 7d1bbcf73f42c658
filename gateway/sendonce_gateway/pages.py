"""Pages for people: what to say in, a small HTML document out that loads nothing, runs nothing and tells nobody.

Everything that is filled in is escaped. The one style sheet is allowed by its hash; there are no scripts.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape

from aiohttp import web

from sendonce_gateway.problems import Problem
from sendonce_gateway.wording import Words

__all__ = ["button", "checkbox", "form", "link", "page", "paragraph", "problem_page"]

_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem;"
    "color:#1b1f24;background:#fff}"
    "h1{font-size:1.4rem}label{display:block;padding:.35rem 0}"
    "button{font:inherit;padding:.6rem 1.2rem;margin:.6rem .6rem 0 0;border:1px solid #1b1f24;border-radius:.3rem;"
    "background:#1b1f24;color:#fff;cursor:pointer}button.second{background:#fff;color:#1b1f24}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# There is a link in the path, which is nobody else's business: no cache, no referrer, no search engine.
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex, nofollow",
}
# of languages that are written from right to left (ISO 639)
_LEFTWARD = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"})


def page(
    language: str, title: str, *blocks: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A whole page, in a language by its tag. `title` is plain text, `blocks` are HTML made by the functions below."""
    heading = escape(title)
    leftward = ' dir="rtl"' if language.partition("-")[0].lower() in _LEFTWARD else ""
    text = (
        f'<!doctype html><html lang="{escape(language)}"{leftward}><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{heading}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{heading}</h1>{''.join(blocks)}</body></html>"
    )
    more = {**HEADERS, "Content-Language": language, **(headers or {})}
    return web.Response(status=status, text=text, content_type="text/html", headers=more)


def problem_page(error: Problem, words: Words) -> web.Response:
    """The answer to a person."""
    title, text = words.problem(error.code)
    return page(words.language, title, paragraph(text), status=error.status, headers=error.headers)


def paragraph(text: str) -> str:
    """Plain text."""
    return f"<p>{escape(text)}</p>"


def link(text: str, url: str) -> str:
    """A link in a paragraph of its own."""
    return f'<p><a href="{escape(url)}">{escape(text)}</a></p>'


def form(*blocks: str, **hidden: str) -> str:
    """A form that is posted to the page's own address; `hidden`: fields that go with it."""
    fields = "".join(_hidden(name, value) for name, value in hidden.items())
    return f'<form method="post">{fields}{"".join(blocks)}</form>'


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def button(text: str, name: str, value: str, *, second: bool = False) -> str:
    """A button that sends the form, with one more field."""
    style = ' class="second"' if second else ""
    return f'<button type="submit"{style} name="{escape(name)}" value="{escape(value)}">{escape(text)}</button>'


def checkbox(text: str, name: str, value: str, *, checked: bool) -> str:
    """A box to tick; a field `known` says that it was shown."""
    mark = " checked" if checked else ""
    box = f'<input type="checkbox" name="{escape(name)}" value="{escape(value)}"{mark}>'
    return f"{_hidden('known', value)}<label>{box} {escape(text)}</label>"
