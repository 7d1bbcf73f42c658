"""Headers of every answer: nothing runs but the console's own script, nothing is framed, nothing personal is kept."""

from __future__ import annotations

from aiohttp import web

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# a document of somebody's template: in a frame of the console's pages, with an origin that is nobody's
FRAME_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}


def framed(html: str) -> web.Response:
    """A document that belongs into a sandboxed frame: it has no origin, runs nothing and loads nothing."""
    return web.Response(
        text=html, content_type="text/html", charset="utf-8", headers={"Content-Security-Policy": FRAME_POLICY}
    )


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Called by aiohttp right before an answer's head goes out."""
    for name, value in _ALWAYS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Content-Security-Policy", PAGE_POLICY)
    response.headers.setdefault("Cache-Control", "no-store")
    if request.secure:
        response.headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    response.headers.pop("Server", None)
