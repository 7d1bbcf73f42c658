"""`sendonce-worker`: settings from the environment in, an exit code that says why it ended out (docs/worker.md).

0  drained, or the campaign has ended, or it waits for a person
1  a bug: the traceback is in the log
2  settings, Secret or campaign that a person must mend
3  the store can't be reached, or its schema does not fit
143  stopped at once: a second SIGTERM, or the end of the grace period

The reason in words goes where a container's last words are looked for, so that `kubectl describe pod` shows it.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

import uvloop
from prometheus_client import CollectorRegistry, disable_created_metrics

from sendonce_store.connection import StoreUnavailableError
from sendonce_store.environment import SettingsError
from sendonce_store.migrate import SchemaVersionError
from sendonce_worker.campaign import NotReadyError
from sendonce_worker.health import HealthServer, HealthState
from sendonce_worker.logs import configure_logging
from sendonce_worker.loop import CampaignNotFoundError, Ended, Worker
from sendonce_worker.metrics import WorkerMetrics
from sendonce_worker.redaction import Redactor
from sendonce_worker.settings import WorkerSettings, read_settings

logger = logging.getLogger(__name__)
CONFIGURATION, STORE, STOPPED_AT_ONCE = 2, 3, 143
# Kubernetes kills at the end of the grace period: what has to be said is said before
GRACE_RESERVE = 1.0
TERMINATION_LOG = Path("/dev/termination-log")
LAST_WORDS = {
    Ended.DRAINED: "drained: it was asked to stop, what was in flight has ended, and the rest is given back",
    Ended.FINISHED: "the campaign has ended",
    Ended.HALTED: "the campaign waits for a person",
}


def main() -> None:
    """Run one worker."""
    try:
        settings = read_settings()
    except SettingsError as error:
        sys.exit(_explain(CONFIGURATION, str(error)))
    redactor = Redactor()
    redactor.register(settings.dsn)
    configure_logging(settings.log_level, settings.log_style, redactor)
    # a second series beside each counter, of which nobody makes use
    disable_created_metrics()  # type: ignore[no-untyped-call]
    sys.exit(uvloop.run(_run(settings, redactor)))


async def _run(settings: WorkerSettings, redactor: Redactor) -> int:
    registry = CollectorRegistry()
    health = HealthState(max_silence=max(30.0, 6 * settings.heartbeat))
    worker = Worker(settings, WorkerMetrics(registry), health, redactor)
    server = None
    if settings.health_port is not None:
        server = HealthServer(health, registry, "0.0.0.0", settings.health_port)  # noqa: S104 - probes come from outside
        server.start()
    try:
        return await _until_signal(worker, settings)
    finally:
        if server is not None:
            server.close()


async def _until_signal(worker: Worker, settings: WorkerSettings) -> int:
    loop = asyncio.get_running_loop()
    work = loop.create_task(_work(worker))
    asked = False

    def terminate() -> None:
        nonlocal asked
        if asked:  # and not: whether it drains, as it does by itself once the campaign is over
            work.cancel()
            return
        asked = True
        worker.drain()
        loop.call_later(max(0.0, settings.grace - GRACE_RESERVE), work.cancel)

    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, terminate)
    try:
        return await work
    except asyncio.CancelledError:
        return _explain(STOPPED_AT_ONCE, "stopped at once: what was in flight is settled by the next worker")


async def _work(worker: Worker) -> int:
    try:
        ended = await worker.run()
    except (NotReadyError, CampaignNotFoundError) as error:
        return _explain(CONFIGURATION, str(error))
    except (StoreUnavailableError, SchemaVersionError) as error:
        return _explain(STORE, str(error))
    logger.info("worker ends: %s", ended.value)
    _leave_word(LAST_WORDS[ended])
    return 0


def _explain(code: int, message: str) -> int:
    """Say why, in the log and in the last words, and pass the exit code on."""
    sys.stderr.write(f"error: {message}\n")
    _leave_word(message)
    return code


def _leave_word(message: str) -> None:
    """Write a container's last words, where there is a file for them."""
    try:
        if TERMINATION_LOG.exists():
            TERMINATION_LOG.write_text(message, "utf-8")
    except OSError as error:
        logger.debug("no termination message: %s", error)


if __name__ == "__main__":
    main()
