"""`sendonce-gateway`: settings from the environment in, two HTTP servers out, until a signal (docs/gateway.md).

The public one: `/u/…` unsubscribe, `/p/…` preferences, `/v1/…` enqueue, `/receipts/…` what providers report later.
The other is for the cluster: `/healthz`, `/readyz`, `/metrics`.

It keeps nothing between two requests but a cache of keys: any number of replicas may run.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry, disable_created_metrics

from sendonce_gateway.app import build_app
from sendonce_gateway.metrics import GatewayMetrics
from sendonce_gateway.settings import GatewaySettings, read_settings
from sendonce_gateway.store import Pool, answers_soon, problem_of_store
from sendonce_store.environment import SettingsError
from sendonce_store.logs import configure_logging, without_words
from sendonce_store.serving import build_ops, listening

logger = logging.getLogger(__name__)
CONFIGURATION = 2
ANYWHERE = "0.0.0.0"  # noqa: S104 - it serves the public


def main() -> None:
    """Run the gateway."""
    try:
        settings = read_settings()
    except SettingsError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(CONFIGURATION)
    configure_logging(settings.log_level, settings.log_style, filters=(without_words,))
    # a second series beside each counter, of which nobody makes use
    disable_created_metrics()  # type: ignore[no-untyped-call]
    asyncio.run(run(settings))


async def run(settings: GatewaySettings) -> None:
    """Serve until SIGTERM or SIGINT; what is under way then is finished, within the grace period."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    async with serving(settings) as ports:
        logger.info("gateway listens on port %s", ports[0])
        await stop.wait()
        logger.info("gateway ends")


@asynccontextmanager
async def serving(settings: GatewaySettings, host: str = ANYWHERE) -> AsyncIterator[list[int]]:
    """Serve the public port, and that of the cluster if it is on; gives their numbers."""
    metrics = GatewayMetrics(CollectorRegistry())
    pool = Pool(settings)
    async with AsyncExitStack() as stack:
        await pool.open()
        stack.push_async_callback(pool.close)
        ports = [await _serve(stack, build_app(pool, settings, metrics), host, settings.port, settings.grace)]
        if settings.ops_port is not None:
            ports.append(await _serve(stack, _ops(pool, metrics), host, settings.ops_port, 1.0))
        yield ports


def _ops(pool: Pool, metrics: GatewayMetrics) -> web.Application:
    async def looked() -> None:
        metrics.store_answers(answers=await answers_soon(pool))

    return build_ops(metrics.registry, lambda: problem_of_store(pool), well="the store answers", at_scrape=looked)


async def _serve(stack: AsyncExitStack, app: web.Application, host: str, port: int, grace: float) -> int:
    # no access log: there are links in the paths. What is left of a body that was refused is not waited for
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=grace, keepalive_timeout=30, lingering_time=0.5)
    _, taken = await listening(stack, runner, host, port, backlog=512)
    return taken


if __name__ == "__main__":
    main()
