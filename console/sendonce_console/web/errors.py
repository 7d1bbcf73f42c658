"""The one boundary for errors: whatever goes wrong becomes a page or a problem document, never a stack trace.

Whoever is known keeps the menu. What the console can't explain is logged with a number that the answer names.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

import orjson
import psycopg
from aiohttp import web
from aiohttp.typedefs import Middleware

from sendonce_console.web.known import known
from sendonce_console.web.problems import ProblemError, bad_request, unavailable
from sendonce_store.connection import StoreUnavailableError
from sendonce_store.migrate import SchemaVersionError
from sendonce_store.serving import route_of

if TYPE_CHECKING:
    from sendonce_console.console import Console

log = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
# text that PostgreSQL can't hold: refused by its client (no SQLSTATE), or by itself
_UNKEEPABLE = (None, "22021", "22P05")
_AWAY = (StoreUnavailableError, psycopg.OperationalError, psycopg.InterfaceError)
_TITLES = {
    HTTPStatus.NOT_FOUND: ("There is no such page", "Look at the address, or begin at the list of campaigns."),
    HTTPStatus.METHOD_NOT_ALLOWED: ("This can't be done here", "The page knows no such request."),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("That is too much at once", "A file or form may have 1 MiB."),
}
_BACK = "Nothing is lost: sending goes on by itself once it is back. Try again soon."


def boundary(console: Console) -> Middleware:
    """The middleware that stands around everything."""

    @web.middleware
    async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001 - the boundary: logged, and answered without a trace
            problem = _explain(request, error)
            return _document(problem) if wants_json(request) else await _page(console, request, problem)

    return errors


def _explain(request: web.Request, error: Exception) -> ProblemError:
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, web.HTTPException):
        title, detail = _TITLES.get(HTTPStatus(error.status), (error.reason, "Try it another way."))
        return ProblemError(error.status, title, detail)
    found = _of_store(request, error)
    return _fault(request, error) if found is None else found


def _of_store(request: web.Request, error: Exception) -> ProblemError | None:
    where = {"route": route_of(request)}
    if isinstance(error, psycopg.errors.QueryCanceled):
        log.warning("a statement took too long", extra=where)
        return unavailable("The answer", "The database took too long. Narrow what you ask for, or try again.")
    if isinstance(error, psycopg.DataError) and error.sqlstate in _UNKEEPABLE:
        return bad_request("text", "has a character that no name or address here has (a NUL)", "Leave it out.")
    if isinstance(error, SchemaVersionError):
        log.warning("the database and this program don't fit: %s", error, extra=where)
        detail = f"They are being upgraded, or wait for it: {error}. Sending is not touched by it."
        return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "The database and the console don't fit", detail)
    if isinstance(error, _AWAY):
        # what comes with a connection names the database; what comes with a statement may quote its rows
        why = str(error) if isinstance(error, StoreUnavailableError) else type(error).__name__
        log.warning("the database can't be used: %s", why, extra=where)
        return unavailable("The database", _BACK)
    return None


def _fault(request: web.Request, error: Exception) -> ProblemError:
    number = secrets.token_hex(4)
    log.error("error %s: a request failed in a way it should not", number, exc_info=error, extra=_asked(request))
    detail = f"It is a fault of the console, noted in its log under {number}. Sending is not touched by it."
    return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong here", detail)


def _asked(request: web.Request) -> dict[str, str]:
    return {"method": request.method, "route": route_of(request)}


def _document(problem: ProblemError) -> web.Response:
    body = {"type": "about:blank", "title": problem.title, "status": problem.status, "detail": problem.detail}
    return web.Response(
        body=orjson.dumps(body),
        status=problem.status,
        content_type="application/problem+json",
        headers=problem.headers,
    )


async def _page(console: Console, request: web.Request, problem: ProblemError) -> web.Response:
    viewer, seed = await known(console, request), console.forms.seed(request)
    # the button to sign out is in the menu
    who = {} if viewer is None else {"viewer": viewer, "csrf": console.forms.token(seed)}
    again = problem.status == HTTPStatus.SERVICE_UNAVAILABLE and request.method == "GET"
    shown = {**NOBODY, **who, "local": console.door.local, "path": request.path, "again": again}
    text = console.pages.text("problem.html", problem=problem, **shown)
    response = web.Response(
        text=text, status=problem.status, content_type="text/html", charset="utf-8", headers=problem.headers
    )
    if viewer is not None:
        console.forms.keep(request, response, seed)
    return response


NOBODY = {"viewer": None, "csrf": "", "namespace": "", "namespaces": (), "rights": None}


def wants_json(request: web.Request) -> bool:
    """Whether a program asks: by the path, or as what it accepts."""
    if request.path.startswith("/api/"):
        return True
    accept = request.headers.get("Accept", "")
    return "json" in accept and "text/html" not in accept
