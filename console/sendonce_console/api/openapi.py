"""The description of the JSON API."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sendonce_console.web.records import reply
from sendonce_console.web.routes import Routes
from sendonce_console.web.visit import Visit

routes = Routes()
DESCRIPTION = web.AppKey("description", dict[str, Any])


@routes.get("/api/v1/openapi.json", needs="sign-in", returns=dict[str, Any], reads=False)
async def openapi(visit: Visit) -> web.Response:
    """The description of the API, as OpenAPI 3.1."""
    return reply(visit.request.app[DESCRIPTION])
