"""The application: the shared parts in, what aiohttp serves out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from aiohttp import web

from sendonce_console.api import campaigns as api_campaigns
from sendonce_console.api import deadletters as api_deadletters
from sendonce_console.api import openapi
from sendonce_console.api import people as api_people
from sendonce_console.api import preview as api_preview
from sendonce_console.api import proof as api_proof
from sendonce_console.api import providers as api_providers
from sendonce_console.api.describing import description
from sendonce_console.api.openapi import DESCRIPTION
from sendonce_console.console import Console
from sendonce_console.pages import campaign, campaigns, deadletters, levers, people, person, preview, proof, providers
from sendonce_console.web.errors import boundary
from sendonce_console.web.handling import served
from sendonce_console.web.headers import add_headers
from sendonce_console.web.routes import Route
from sendonce_store.serving import counted

__all__ = ["ROUTES", "build_app"]

LARGEST_REQUEST = 1024 * 1024
_MODULES = (
    campaigns, campaign, people, person, deadletters, levers, providers, preview, proof,
    api_campaigns, api_people, api_deadletters, api_providers, api_proof, api_preview, openapi,
)  # fmt: skip
ROUTES: Sequence[Route] = [route for module in _MODULES for route in module.routes]
"""Every route that answers with anything of the store."""


def build_app(console: Console) -> web.Application:
    """Put routes, headers and the boundary for errors together."""
    around = [counted(console.metrics.requests), boundary(console)]
    app = web.Application(middlewares=around, client_max_size=LARGEST_REQUEST)
    app.router.add_get("/static/{name}", console.static.serve)
    app.router.add_get("/healthz", alive)
    _add(app, console, ROUTES)
    console.door.add_routes(app, console)
    app[DESCRIPTION] = description(ROUTES)
    app.on_response_prepare.append(add_headers)
    app.on_cleanup.append(_closing(console))
    return app


def _add(app: web.Application, console: Console, routes: Iterable[Route]) -> None:
    for route in routes:
        app.router.add_route(route.method, route.path, served(console, route))
        if route.method == "GET":
            app.router.add_route("HEAD", route.path, served(console, route))


async def alive(request: web.Request) -> web.Response:
    """The process answers; whether the database does is no reason to restart it."""
    del request
    return web.Response(text="ok\n")


def _closing(console: Console) -> Callable[[web.Application], Awaitable[None]]:
    async def close(app: web.Application) -> None:
        del app
        await console.levers.close()
        await console.reader.close()
        await console.door.close()

    return close
