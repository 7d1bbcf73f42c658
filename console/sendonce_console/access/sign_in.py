"""The way in and out for people: a form that takes a token, a session that begins, a button that ends it.

Whatever is wrong with a token, the answer is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from sendonce_console.access.forms import FIELD
from sendonce_console.web.errors import NOBODY
from sendonce_console.web.handling import read_form
from sendonce_console.web.problems import ProblemError

if TYPE_CHECKING:
    from sendonce_console.access.kubernetes import KubernetesDoor
    from sendonce_console.console import Console

REFUSED = "The token was not accepted"
WHY = "It may be incomplete, expired or revoked, or made for another service. Make a new one and try again."
ENDED = "Your session has ended. Sign in again to go on where you were."
TOO_LONG = "The token is too long for a session. Use an authenticating proxy in front of the console (docs/console.md)."


def add_routes(app: web.Application, console: Console, door: KubernetesDoor) -> None:
    """Add `/sign-in` and `/sign-out`."""
    desk = _Desk(console, door)
    app.router.add_get("/sign-in", desk.form)
    app.router.add_post("/sign-in", desk.sign_in)
    app.router.add_post("/sign-out", desk.sign_out)


class _Desk:
    """Where people sign in."""

    def __init__(self, console: Console, door: KubernetesDoor) -> None:
        self._console, self._door = console, door

    async def form(self, request: web.Request) -> web.Response:
        """The empty form."""
        said = ENDED if request.query.get("why") == "ended" else ""
        return self._page(request, said, request.query.get("next", ""), 200)

    async def sign_in(self, request: web.Request) -> web.Response:
        """Begin a session, or say that it did not work."""
        form = await read_form(request)
        self._console.forms.check(request, form.get(FIELD, ""))
        token, following = form.get("token", "").strip(), form.get("next", "")
        try:
            await self._door.identify(request, token)
        except ProblemError as problem:
            if problem.status not in {401, 429}:
                raise
            said = f"{problem.title}. {problem.detail}"
            return self._page(request, said, following, problem.status, problem.headers.get("Retry-After"))
        if not self._door.sessions.fits(token):
            return self._page(request, TOO_LONG, following, 413)
        response = web.Response(status=303, headers={"Location": own_page(following)})
        self._door.sessions.begin(response, token)
        return response

    async def sign_out(self, request: web.Request) -> web.Response:
        """End the session; the token itself stays good until it runs out."""
        form = await read_form(request)
        self._console.forms.check(request, form.get(FIELD, ""))
        response = web.Response(status=303, headers={"Location": "/sign-in"})
        self._door.sessions.end(response)
        return response

    def _page(
        self, request: web.Request, said: str, following: str, status: int, retry_after: str | None = None
    ) -> web.Response:
        seed = self._console.forms.seed(request)
        shown = {
            "said": said,
            "next": own_page(following),
            "audience": self._console.settings.audience,
            "local": False,
            "path": "/sign-in",
            **NOBODY,
            "csrf": self._console.forms.token(seed),
        }
        text = self._console.pages.text("sign_in.html", **shown)
        response = web.Response(text=text, status=status, content_type="text/html", charset="utf-8")
        if retry_after is not None:
            response.headers["Retry-After"] = retry_after
        self._console.forms.keep(request, response, seed)
        return response


def own_page(address: str) -> str:
    """Where to go after signing in: a page of this console, never somebody else's."""
    plain = address.startswith("/") and not address.startswith(("//", "/\\", "/sign-")) and address.isprintable()
    return address if plain else "/"
