"""Around every request: whatever goes wrong becomes an answer that says so and no more.

People (`/u/…`, `/p/…` and what is mistyped) get a page, programs (`/v1/…`, `/receipts/…`) JSON.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from sendonce_gateway.languages import Languages
from sendonce_gateway.pages import problem_page
from sendonce_gateway.problems import Problem, problem
from sendonce_gateway.wording import Words
from sendonce_store.connection import StoreUnavailableError
from sendonce_store.serving import route_of

__all__ = ["answer", "words_for"]

logger = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
FOR_PROGRAMS = ("/v1/", "/receipts/")
_STORE = Problem(503, "store_unavailable", "this can't be recorded at the moment: try again", {"Retry-After": "10"})
_BUG = Problem(500, "internal", "something went wrong here: try again later")


def answer(languages: Languages) -> Middleware:
    """The middleware that is around all handlers."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        return await _answered(request, handler, languages)

    return middleware


async def _answered(request: web.Request, handler: Handler, languages: Languages) -> web.StreamResponse:
    try:
        return await handler(request)
    except Problem as error:
        found = error
    except web.HTTPException as error:
        found = _of_aiohttp(error)
    except StoreUnavailableError as error:
        logger.warning("the store can't be used: %s", error, extra={"route": route_of(request)})
        found = _STORE
    except Exception:
        logger.exception("a request failed in a way it should not", extra={"route": route_of(request)})
        found = _BUG
    if request.path.startswith(FOR_PROGRAMS):
        return problem(found)
    return problem_page(found, words_for(request, languages))


def words_for(request: web.Request, languages: Languages) -> Words:
    """The words of the language that a person's browser asks for."""
    return languages.spoken(", ".join(request.headers.getall("Accept-Language", [])))


def _of_aiohttp(error: web.HTTPException) -> Problem:
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        return Problem(405, "method_not_allowed", f"use {allowed} here", {"Allow": allowed})
    if isinstance(error, web.HTTPNotFound):
        return Problem(404, "not_found", "there is nothing at this address")
    return Problem(error.status, "refused", "this request can't be answered")
