"""The one boundary for errors: whatever goes wrong becomes a page or a problem document, never a stack trace.

What the console can't explain is logged with a number that the answer names.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import orjson
import psycopg
from aiohttp import web
from aiohttp.typedefs import Middleware

from sendonce_console.web.problems import ProblemError, unavailable
from sendonce_console.web.templating import Pages
from sendonce_store.connection import StoreUnavailableError

log = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_AWAY = (StoreUnavailableError, psycopg.OperationalError, psycopg.InterfaceError)
_TITLES = {
    HTTPStatus.NOT_FOUND: ("There is no such page", "Look at the address, or begin at the list of campaigns."),
    HTTPStatus.METHOD_NOT_ALLOWED: ("This can't be done here", "The page knows no such request."),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("That is too much at once", "A file or form may have 1 MiB."),
}


def boundary(pages: Pages, *, local: bool) -> Middleware:
    """The middleware that stands around everything."""

    @web.middleware
    async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001 - the boundary: logged, and answered without a trace
            return _answer(pages, request, _explain(request, error), local=local)

    return errors


def _explain(request: web.Request, error: Exception) -> ProblemError:
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, web.HTTPException):
        title, detail = _TITLES.get(HTTPStatus(error.status), (error.reason, "Try it another way."))
        return ProblemError(error.status, title, detail)
    if isinstance(error, psycopg.errors.QueryCanceled):
        return unavailable("The answer", "The database took too long. Narrow what you ask for, or try again.")
    if isinstance(error, _AWAY):
        log.warning("the database can't be used: %s", type(error).__name__)
        return unavailable(
            "The database", "Nothing is lost: sending goes on by itself once it is back. Try again soon."
        )
    number = secrets.token_hex(4)
    log.error("error %s in %s %s", number, request.method, request.match_info.route.resource, exc_info=error)
    detail = f"It is a fault of the console, noted in its log under {number}. Sending is not touched by it."
    return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong here", detail)


def _answer(pages: Pages, request: web.Request, problem: ProblemError, *, local: bool) -> web.Response:
    if wants_json(request):
        body = {"type": "about:blank", "title": problem.title, "status": problem.status, "detail": problem.detail}
        return web.Response(
            body=orjson.dumps(body),
            status=problem.status,
            content_type="application/problem+json",
            headers=problem.headers,
        )
    text = pages.text("problem.html", problem=problem, local=local, **NOBODY, path=request.path)
    return web.Response(
        text=text, status=problem.status, content_type="text/html", charset="utf-8", headers=problem.headers
    )


NOBODY = {"viewer": None, "csrf": "", "namespace": "", "namespaces": (), "rights": None}


def wants_json(request: web.Request) -> bool:
    """Whether a program asks: by the path, or as what it accepts."""
    if request.path.startswith("/api/"):
        return True
    accept = request.headers.get("Accept", "")
    return "json" in accept and "text/html" not in accept
