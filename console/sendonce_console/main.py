"""`sendonce-console`: settings in, the console on a port out, and what operators ask on another.

In a cluster the API server says who may see what (`access.kubernetes`); `sendonce console` puts the same application on
the loopback interface. What is served: `app`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack

from aiohttp import web
from prometheus_client import CollectorRegistry, disable_created_metrics

from sendonce_console.access.cluster import Cluster, from_kubeconfig, in_cluster
from sendonce_console.access.forms import Forms
from sendonce_console.access.kubernetes import KubernetesDoor
from sendonce_console.access.reviews import Reviews
from sendonce_console.access.viewer import Door
from sendonce_console.app import build_app
from sendonce_console.console import Console
from sendonce_console.levers.interface import Levers
from sendonce_console.levers.kubernetes import KubernetesLevers
from sendonce_console.metrics import ConsoleMetrics
from sendonce_console.ops import console_ops
from sendonce_console.reading import Reader
from sendonce_console.settings import ConsoleSettings, read_settings
from sendonce_console.web.sealing import Searches
from sendonce_console.web.static import StaticFiles
from sendonce_console.web.templating import Pages
from sendonce_store.environment import SettingsError
from sendonce_store.logs import QUIET, configure_logging, without_words
from sendonce_store.serving import listening

__all__ = ["build_app", "furnish", "in_a_cluster", "main", "serve"]

log = logging.getLogger(__name__)
SHUTDOWN_SECONDS, OPS_SHUTDOWN_SECONDS = 5.0, 1.0


def furnish(settings: ConsoleSettings, door: Door, levers: Levers, metrics: ConsoleMetrics | None = None) -> Console:
    """Put the shared parts together. `metrics`: those that the door counts into, if it does."""
    metrics = metrics or ConsoleMetrics(CollectorRegistry())
    static = StaticFiles()
    reader = Reader(settings.dsn, connections=settings.connections, statement_seconds=settings.statement_seconds)
    forms = Forms(settings.key, local=door.local)
    searches = Searches(settings.key, settings.session_seconds)
    return Console(settings, reader, door, forms, static, Pages(static), levers, metrics, searches)


def in_a_cluster(settings: ConsoleSettings) -> Console:
    """The console whose viewers and levers are those of a cluster. Raises SettingsError where there is none."""
    cluster = Cluster(from_kubeconfig(settings.kubeconfig) if settings.kubeconfig else in_cluster())
    seconds = settings.rights_seconds
    reviews = Reviews(cluster, settings.audience, any_audience=settings.any_audience, seconds=seconds)
    metrics = ConsoleMetrics(CollectorRegistry())
    return furnish(settings, KubernetesDoor(reviews, settings, metrics), KubernetesLevers(cluster), metrics)


def main() -> int:
    """Run until asked to stop; 2 for settings that can't be used."""
    try:
        settings = read_settings()
        configure_logging(settings.log_level, settings.log_style, filters=(without_words,), quiet=("httpx", *QUIET))
        # a second series beside each counter, of which nobody makes use
        disable_created_metrics()  # type: ignore[no-untyped-call]
        asyncio.run(serve(in_a_cluster(settings)))
    except SettingsError as error:
        print(f"sendonce-console: {error}", file=sys.stderr)  # noqa: T201 - for whoever starts it
        return 2
    return 0


async def serve(console: Console, ready: Callable[[str, int], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is told host and port once requests are taken."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    settings = console.settings
    async with AsyncExitStack() as stack:
        host, port = await listening(stack, _runner(build_app(console), SHUTDOWN_SECONDS), settings.host, settings.port)
        if settings.ops_port is not None:
            ops = _runner(console_ops(console), OPS_SHUTDOWN_SECONDS)
            await listening(stack, ops, settings.host, settings.ops_port)
        log.info("console listens on port %s", port)
        if ready is not None:
            ready(host, port)
        await stop.wait()
        log.info("console ends")


def _runner(app: web.Application, grace: float) -> web.AppRunner:
    # no access log: it would tell of people, by what is searched for
    return web.AppRunner(app, access_log=None, shutdown_timeout=grace)
