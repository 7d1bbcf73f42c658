"""Around every request: whatever goes wrong becomes an answer that says so and no more, and all answers are counted.

People (`/u/…`, `/p/…` and what is mistyped) get a page, programs (`/v1/…`, `/receipts/…`) JSON.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from sendonce_gateway.metrics import GatewayMetrics
from sendonce_gateway.pages import problem_page
from sendonce_gateway.problems import Problem, problem
from sendonce_store.connection import StoreUnavailableError

__all__ = ["answer"]

logger = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
FOR_PROGRAMS = ("/v1/", "/receipts/")
_STORE = Problem(503, "store_unavailable", "this can't be recorded at the moment: try again", {"Retry-After": "10"})
_BUG = Problem(500, "internal", "something went wrong here: try again later")


def answer(metrics: GatewayMetrics) -> Middleware:
    """The middleware that is around all others."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.monotonic()
        response = await _answered(request, handler)
        metrics.answered(_route(request), response.status, time.monotonic() - began)
        return response

    return middleware


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Problem as error:
        return _say(request, error)
    except web.HTTPException as error:
        return _say(request, _of_aiohttp(error))
    except StoreUnavailableError as error:
        logger.warning("the store can't be used: %s", error, extra={"route": _route(request)})
        return _say(request, _STORE)
    except Exception:
        logger.exception("a request failed in a way it should not", extra={"route": _route(request)})
        return _say(request, _BUG)


def _say(request: web.Request, error: Problem) -> web.Response:
    return problem(error) if request.path.startswith(FOR_PROGRAMS) else problem_page(error)


def _of_aiohttp(error: web.HTTPException) -> Problem:
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        return Problem(405, "method_not_allowed", f"use {allowed} here", {"Allow": allowed})
    if isinstance(error, web.HTTPNotFound):
        return Problem(404, "not_found", "there is nothing at this address")
    return Problem(error.status, "refused", "this request can't be answered")


def _route(request: web.Request) -> str:
    """The pattern of the route, for metrics and logs: the path itself holds links."""
    resource = request.match_info.route.resource
    return "none" if resource is None else resource.canonical
