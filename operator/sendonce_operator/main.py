"""`sendonce-operator`: campaigns of a cluster in; rows, workers and statuses out.

    watch        kopf shows every object of ours, Deployments and Pods of workers (below)      → desk
    reconcile    one campaign: whose it is, its row, its start                                  → reconcile, identity
    look         every second, all active campaigns: Deployments, statuses, Events              → active, showing
    delete       a campaign's deliveries are ended before its object goes                       → deleting
    providers    settings into the store, what workers found out into the status                → providers
    actions      a person's orders, once each                                                   → actions
    upkeep       expired objects, old data, what a watch may have lost                          → upkeep, canary

kopf runs in a thread with a loop of its own. Its handlers are coroutines also where they wait for nothing: it calls a
plain function in another thread, which costs more than what the function does. This is the only module that knows it.

Exit codes: 0 stopped, 2 settings that a person must mend, 1 anything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import sys
from collections.abc import Iterable
from concurrent.futures import Future, InvalidStateError
from typing import Any, cast

import kopf
from prometheus_client import CollectorRegistry, disable_created_metrics, start_http_server

from sendonce_operator.active import ActiveLoop
from sendonce_operator.aside import aside
from sendonce_operator.cluster import open_cluster
from sendonce_operator.desk import Desk
from sendonce_operator.digests import Digests
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.objects import ACTION, CAMPAIGN, CLUSTER_PROVIDER, PROVIDER
from sendonce_operator.paths import CAMPAIGN_LABEL, GROUP, PLURALS, PREFIX, VERSION
from sendonce_operator.runtime import Runtime
from sendonce_operator.settings import OperatorSettings, read_settings
from sendonce_operator.upkeep import background
from sendonce_store.environment import SettingsError
from sendonce_store.logs import QUIET, configure_logging

logger = logging.getLogger(__name__)
CONFIGURATION = 2
# what kopf has to end in, once a watch has failed
END_SECONDS = 10.0


class DigestedDiffBase(kopf.AnnotationsDiffBaseStorage):
    """What kopf remembers of a spec, with digests of what may be large. It copies that at every event, too."""

    def __init__(self, *, prefix: str) -> None:
        """`prefix` is that of the annotation."""
        super().__init__(prefix=prefix)
        self._digests = Digests()

    def build(self, *, body: kopf.Body, extra_fields: Iterable[Any] | None = None) -> kopf.BodyEssence:
        """The essence of an object."""
        return super().build(body=kopf.Body(cast("Any", self._digests.of(body))), extra_fields=extra_fields)


# --- kopf's handlers -------------------------------------------------------------------------------------------------
def register(desk: Desk, settings: OperatorSettings) -> kopf.OperatorRegistry:
    """Everything that kopf is to call."""
    registry = kopf.OperatorRegistry()
    register_startup(registry, settings)
    register_health(registry, desk)
    register_campaigns(registry, desk)
    register_providers(registry, desk)
    register_actions(registry, desk)
    register_workers(registry, desk)
    return registry


def register_startup(registry: kopf.OperatorRegistry, settings: OperatorSettings) -> None:
    """How kopf reaches the cluster."""

    @kopf.on.login(registry=registry)
    def login(**given: Any) -> kopf.ConnectionInfo | None:  # noqa: ANN401 - kopf gives what it has
        in_cluster = settings.kubeconfig is None
        return kopf.login_with_service_account(**given) if in_cluster else kopf.login_with_kubeconfig(**given)


def register_health(registry: kopf.OperatorRegistry, desk: Desk) -> None:
    """What the liveness probe asks."""

    @kopf.on.probe(registry=registry, id="operator")
    def well(**_: object) -> str:
        complaint = desk.complaint()
        if complaint is not None:
            # any other error makes the probe hang instead of fail
            raise kopf.PermanentError(complaint)
        return "well"


def register_campaigns(registry: kopf.OperatorRegistry, desk: Desk) -> None:
    """Campaigns. The delete handler makes kopf put its finalizer on every object."""
    plural = PLURALS[CAMPAIGN]

    @kopf.on.event(GROUP, VERSION, plural, registry=registry)
    async def shown(body: kopf.Body, type: str | None, **_: object) -> None:  # noqa: A002 - kopf's name
        desk.show(CAMPAIGN, dict(body), type)

    @kopf.on.create(GROUP, VERSION, plural, registry=registry, id="campaign")
    @kopf.on.update(GROUP, VERSION, plural, registry=registry, id="campaign")
    @kopf.on.resume(GROUP, VERSION, plural, registry=registry, id="campaign")
    async def changed(body: kopf.Body, **_: object) -> None:
        await desk.campaign(dict(body))

    @kopf.on.delete(GROUP, VERSION, plural, registry=registry, id="campaign")
    async def deleted(body: kopf.Body, **_: object) -> None:
        come_back(await desk.deleted(dict(body)), "deliveries are being ended")


def register_providers(registry: kopf.OperatorRegistry, desk: Desk) -> None:
    """Providers of a namespace and of the whole cluster."""
    for kind in (PROVIDER, CLUSTER_PROVIDER):
        register_provider(registry, desk, kind)


def register_provider(registry: kopf.OperatorRegistry, desk: Desk, kind: str) -> None:
    """Providers of one kind: without a finalizer, as nothing has to happen before one goes."""

    @kopf.on.event(GROUP, VERSION, PLURALS[kind], registry=registry)
    async def shown(body: kopf.Body, type: str | None, **_: object) -> None:  # noqa: A002 - kopf's name
        desk.show(kind, dict(body), type)

    @kopf.on.create(GROUP, VERSION, PLURALS[kind], registry=registry, id="provider")
    @kopf.on.update(GROUP, VERSION, PLURALS[kind], registry=registry, id="provider")
    @kopf.on.resume(GROUP, VERSION, PLURALS[kind], registry=registry, id="provider")
    async def changed(body: kopf.Body, **_: object) -> None:
        await desk.provider(kind, dict(body))


def register_actions(registry: kopf.OperatorRegistry, desk: Desk) -> None:
    """Actions: done once, so that only their creation counts, and what was left undone."""
    plural = PLURALS[ACTION]

    @kopf.on.event(GROUP, VERSION, plural, registry=registry)
    async def shown(body: kopf.Body, type: str | None, **_: object) -> None:  # noqa: A002 - kopf's name
        desk.show(ACTION, dict(body), type)

    @kopf.on.create(GROUP, VERSION, plural, registry=registry, id="action")
    @kopf.on.resume(GROUP, VERSION, plural, registry=registry, id="action")
    async def made(body: kopf.Body, **_: object) -> None:
        come_back(await desk.action(dict(body)), "not applied yet")


def register_workers(registry: kopf.OperatorRegistry, desk: Desk) -> None:
    """Deployments and Pods of campaigns."""

    @kopf.on.event("apps", "v1", "deployments", registry=registry, labels={CAMPAIGN_LABEL: kopf.PRESENT})
    async def deployment(body: kopf.Body, type: str | None, **_: object) -> None:  # noqa: A002 - kopf's name
        desk.show_deployment(dict(body), type)

    @kopf.on.event("", "v1", "pods", registry=registry, labels={CAMPAIGN_LABEL: kopf.PRESENT})
    async def pod(body: kopf.Body, type: str | None, **_: object) -> None:  # noqa: A002 - kopf's name
        desk.show_pod(dict(body), type)


def come_back(seconds: float | None, why: str) -> None:
    """Have kopf call again after some seconds; None: it is done."""
    if seconds is not None:
        jitter = random.uniform(0.8, 1.2)  # noqa: S311 - jitter, not a secret
        raise kopf.TemporaryError(why, delay=seconds * jitter)


# --- kopf's settings -------------------------------------------------------------------------------------------------
def kopf_settings() -> kopf.OperatorSettings:
    """How kopf watches and remembers."""
    settings = kopf.OperatorSettings()
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.watching.inactivity_timeout = 70
    settings.watching.label_selectors["apps/deployments"] = CAMPAIGN_LABEL
    settings.watching.label_selectors["pods"] = CAMPAIGN_LABEL
    settings.networking.request_timeout = 30
    # each may hold a connection; more at a time would not be served faster
    settings.queueing.worker_limit = 20
    # while it waits for the next event of its object, other objects queue; the default is 5 s
    settings.queueing.idle_timeout = 0.05
    settings.execution.default_backoff = 15
    settings.posting.enabled = False
    settings.persistence.finalizer = f"{PREFIX}/finalizer"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=PREFIX)
    settings.persistence.diffbase_storage = DigestedDiffBase(prefix=PREFIX)
    return settings


def complain(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what went wrong in kopf's loop, but not of watches that its end closes in the middle of a line."""
    if "asyncgen" in context:
        logger.debug("%s: %r", context["message"], context.get("exception"))
    else:
        loop.default_exception_handler(context)


async def watch(desk: Desk, settings: OperatorSettings, stop: Future[None], ending: Future[None]) -> None:
    """Let kopf watch until told to stop. Raises what kopf ends with: a watch that fails ends all of it.

    `ending` is done once it begins to end; that it has ended may be later, or never: its other watches may wait for a
    session that it has closed.
    """
    port = settings.health_port
    asyncio.get_running_loop().set_exception_handler(complain)
    before = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=register(desk, settings),
        settings=kopf_settings(),
        standalone=True,
        clusterwide=True,
        # a future of this loop: for any other flag kopf waits in a thread, and the loop's end would wait for that
        stop_flag=asyncio.wrap_future(stop),
        # kopf's own choice asks for the user's name, and the numeric user of an image has none
        identity=cast("Any", settings.identity),
        liveness_endpoint=f"http://0.0.0.0:{port}/healthz" if port is not None else None,
    )
    for task in tasks:
        task.add_done_callback(lambda _: settle(ending))
    await kopf.run_tasks(tasks, ignored=before)


def settle(future: Future[None]) -> None:
    """Mark it as done, if it is not."""
    with contextlib.suppress(InvalidStateError):
        future.set_result(None)


# --- the program -----------------------------------------------------------------------------------------------------
def main() -> None:
    """Run the operator."""
    try:
        settings = read_settings()
    except SettingsError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(CONFIGURATION)
    configure_logging(settings.log_level, "json", stream=sys.stdout, quiet=("kopf", *QUIET))
    # a second series beside each counter, of which nobody makes use
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    if settings.metrics_port is not None:
        start_http_server(settings.metrics_port, registry=registry)
    sys.exit(asyncio.run(run(settings, OperatorMetrics(registry))))


async def run(settings: OperatorSettings, metrics: OperatorMetrics) -> int:
    """Run kopf in its thread and everything else here, until a signal or the end of either."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    async with open_cluster(settings.kubeconfig) as cluster:
        runtime = Runtime(settings, cluster, metrics)
        active = ActiveLoop(runtime)
        watch = watching(Desk(runtime, active, loop), settings, stop)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(active.run(stop))
            tasks.create_task(background(runtime, stop))
            watched = tasks.create_task(watch)
        await runtime.close()
    return 0 if watched.result() else 1


async def watching(desk: Desk, settings: OperatorSettings, stop: asyncio.Event) -> bool:
    """Let kopf watch, in a thread, until `stop`; False if it ended by itself, which ends everything else too."""
    flag: Future[None] = Future()
    ending: Future[None] = Future()
    ended = asyncio.wrap_future(aside(lambda: asyncio.run(watch(desk, settings, flag, ending))))
    signs: list[asyncio.Future[Any]] = [ended, asyncio.wrap_future(ending), asyncio.ensure_future(stop.wait())]
    await asyncio.wait(signs, return_when=asyncio.FIRST_COMPLETED)
    asked = stop.is_set()
    settle(flag)
    stop.set()
    await asyncio.wait({ended}, timeout=None if asked else END_SECONDS)
    if not ended.done():
        logger.error("the watches have failed, and some don't end; the process does, to be started anew")
        return False
    if (error := ended.exception()) is not None:
        logger.error("the watches have failed; the process ends, to be started anew", exc_info=error)
        return False
    return asked


if __name__ == "__main__":
    main()
