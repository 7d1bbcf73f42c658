"""`sendonce-console`: settings in, the console on a port out.

In a cluster the API server says who may see what (`access.kubernetes`); `sendonce console` puts the same application on
the loopback interface. What is served: `app`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable

from aiohttp import web

from sendonce_console.access.cluster import Cluster, from_kubeconfig, in_cluster
from sendonce_console.access.forms import Forms
from sendonce_console.access.kubernetes import KubernetesDoor
from sendonce_console.access.reviews import Reviews
from sendonce_console.access.viewer import Door
from sendonce_console.app import build_app
from sendonce_console.console import Console
from sendonce_console.levers.interface import Levers
from sendonce_console.levers.kubernetes import KubernetesLevers
from sendonce_console.reading import Reader
from sendonce_console.settings import ConsoleSettings, read_settings
from sendonce_console.web.static import StaticFiles
from sendonce_console.web.templating import Pages
from sendonce_store.environment import SettingsError

__all__ = ["build_app", "furnish", "in_a_cluster", "main", "serve"]

SHUTDOWN_SECONDS = 5.0


def furnish(settings: ConsoleSettings, door: Door, levers: Levers) -> Console:
    """Put the shared parts together."""
    static = StaticFiles()
    reader = Reader(settings.dsn, connections=settings.connections, statement_seconds=settings.statement_seconds)
    return Console(settings, reader, door, Forms(settings.key, local=door.local), static, Pages(static), levers)


def in_a_cluster(settings: ConsoleSettings) -> Console:
    """The console whose viewers and levers are those of a cluster. Raises SettingsError where there is none."""
    cluster = Cluster(from_kubeconfig(settings.kubeconfig) if settings.kubeconfig else in_cluster())
    seconds = settings.rights_seconds
    reviews = Reviews(cluster, settings.audience, any_audience=settings.any_audience, seconds=seconds)
    return furnish(settings, KubernetesDoor(reviews, settings), KubernetesLevers(cluster))


def main() -> int:
    """Run until asked to stop; 2 for settings that can't be used."""
    try:
        settings = read_settings()
        logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
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
    runner = web.AppRunner(build_app(console), access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, console.settings.host, console.settings.port)
        await site.start()
        if ready is not None:
            ready(*runner.addresses[0][:2])
        await stop.wait()
    finally:
        await runner.cleanup()
