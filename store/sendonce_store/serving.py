"""What gateway and console share as programs that serve HTTP. The others have no aiohttp, and never come here.

- `listening`: an application on a port, until its stack ends.
- `counted`: the middleware around all others, by which every answer is counted and timed by the pattern of its route.
- `build_ops`: `/healthz`, `/readyz` and `/metrics`, for a port of their own that is not for the public.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from aiohttp import web
from aiohttp.typedefs import Middleware
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import choose_encoder

__all__ = ["RequestMetrics", "build_ops", "counted", "listening", "route_of"]

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Look = Callable[[], Awaitable[str | None]]
Scrape = Callable[[], Awaitable[object]]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RequestMetrics:
    """Answers of one program. No label has a name, an address or a token: their number is bounded."""

    def __init__(self, registry: CollectorRegistry, program: str) -> None:
        """Register both metrics. ValueError if the registry has them already."""
        self._requests = Counter(
            f"sendonce_{program}_requests", "Requests answered", ("route", "status"), registry=registry
        )
        self._duration = Histogram(
            f"sendonce_{program}_request_seconds", "Time to an answer", ("route",), registry=registry, buckets=_SECONDS
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request. `route`: its pattern, never its path."""
        self._requests.labels(route, str(status)).inc()
        self._duration.labels(route).observe(seconds)


def route_of(request: web.Request) -> str:
    """The pattern of the route, for metrics and logs: the path itself tells of somebody. `none`: there is no such."""
    resource = request.match_info.route.resource
    return "none" if resource is None else resource.canonical


def counted(requests: RequestMetrics) -> Middleware:
    """The middleware that is around all others; one within turns whatever goes wrong into an answer."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.monotonic()
        response = await handler(request)
        requests.answered(route_of(request), response.status, time.monotonic() - began)
        return response

    return middleware


def build_ops(
    registry: CollectorRegistry, look: Look, *, well: str, at_scrape: Scrape | None = None
) -> web.Application:
    """The application for Kubernetes' probes and Prometheus.

    `look`: why the program can't do its work now, None where it can, which `well` says. `at_scrape`: done before each
    scrape, for metrics that tell of it; the others wait for it.
    """

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="the loop turns\n")

    async def readyz(_: web.Request) -> web.Response:
        found = await look()
        return web.Response(status=503 if found else 200, text=f"{found or well}\n")

    async def exposition(request: web.Request) -> web.Response:
        if at_scrape is not None:
            await at_scrape()
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(registry), headers={"Content-Type": content_type})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", exposition)])
    return app


async def listening(
    stack: AsyncExitStack, runner: web.AppRunner, host: str, port: int, backlog: int = 128
) -> tuple[str, int]:
    """Serve until the stack ends; gives the address that was taken. Raises OSError where it can't be."""
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, host, port, backlog=backlog).start()
    taken: tuple[str, int] = runner.addresses[0][:2]
    return taken
