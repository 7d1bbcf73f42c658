"""`/healthz`, `/readyz` and `/metrics`, on a port of their own that is not for the public."""

from __future__ import annotations

from aiohttp import web
from prometheus_client.exposition import choose_encoder

from sendonce_gateway.metrics import GatewayMetrics
from sendonce_gateway.store import Pool
from sendonce_store import gateway
from sendonce_store.connection import StoreUnavailableError
from sendonce_store.migrate import newest

__all__ = ["build_ops"]


def build_ops(pool: Pool, metrics: GatewayMetrics) -> web.Application:
    """The application for Kubernetes' probes and Prometheus."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="the loop turns\n")

    async def readyz(_: web.Request) -> web.Response:
        found = await problem_of_store(pool)
        return web.Response(status=503 if found else 200, text=f"{found or 'the store answers'}\n")

    async def exposition(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(metrics.registry), headers={"Content-Type": content_type})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", exposition)])
    return app


async def problem_of_store(pool: Pool) -> str | None:
    """Why the store can't be used now; None: it can. A schema that is newer keeps the functions of an older one."""
    try:
        async with pool.connection() as conn:
            found = await gateway.schema(conn)
    except StoreUnavailableError as error:
        return str(error)
    wanted = newest()
    if found < wanted:
        return f"the schema is version {found}, this program needs {wanted}: run `sendonce migrate`"
    return None
