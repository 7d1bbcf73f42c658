"""What is done now and then: expired objects are deleted, and recipients' data that has been kept long enough.

Also what a watch may have lost: every minute all objects of ours and all workers are listed, and compared with
what was watched.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

from sendonce_operator.actions import reconcile_action
from sendonce_operator.canary import version_of
from sendonce_operator.cluster import ClusterError, Object
from sendonce_operator.decisions.actions import is_over
from sendonce_operator.decisions.lifetime import delete_at
from sendonce_operator.ledger import STORE_ERRORS
from sendonce_operator.measuring import SECONDS as MEASURE_SECONDS
from sendonce_operator.measuring import Measuring
from sendonce_operator.objects import ACTION, CAMPAIGN, CLUSTER_PROVIDER, PROVIDER, key_of
from sendonce_operator.paths import CAMPAIGN_LABEL, DEPLOYMENT, HANDLED_ANNOTATION, POD, Key, listing
from sendonce_operator.providers import note_gone, reconcile_provider, suspend_gone
from sendonce_operator.runtime import Runtime
from sendonce_operator.showing import situation_of
from sendonce_store import operating, receipts, retention
from sendonce_store.retention import RetentionError

logger = logging.getLogger(__name__)
KINDS = (CLUSTER_PROVIDER, PROVIDER, CAMPAIGN, ACTION)
EXPIRY_SECONDS = 5.0
PROVIDER_SECONDS = 5.0
ACTION_SECONDS = 15.0
RETENTION_SECONDS = 600.0
# a page is in memory as a whole
PAGE = "100"


async def repeat(runtime: Runtime, job: Callable[[], Awaitable[None]], seconds: float, stop: asyncio.Event) -> None:
    """Do a job every so often; one that fails is done again the next time."""
    while not stop.is_set():
        with goes_on(runtime, getattr(job, "__name__", str(job))):
            await job()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)


@contextlib.contextmanager
def goes_on(runtime: Runtime, what: str) -> Iterator[None]:
    """One object that can't be seen to is no reason to leave the others alone; it is tried again the next time."""
    try:
        yield
    except (ClusterError, *STORE_ERRORS) as error:
        away = "ApiServer" if isinstance(error, ClusterError) else "StoreUnavailable"
        runtime.metrics.failures.labels(away).inc()
        logger.warning("%s: %s", what, error)
    except RetentionError:
        raise
    except Exception:
        runtime.metrics.failures.labels("Internal").inc()
        logger.exception("%s", what)


# --- time is over ----------------------------------------------------------------------------------------------------
async def delete_expired(runtime: Runtime) -> None:
    """Delete the objects of campaigns that ended long enough ago. Raises ClusterError."""
    for key, tracked in list(runtime.tracked.items()):
        campaign = runtime.watched.campaigns.get(key)
        if campaign is None or campaign.subject.deleting or not tracked.settled:
            continue
        when = delete_at(situation_of(runtime, campaign, tracked, None))
        if when is not None and when <= runtime.now():
            runtime.metrics.writes.labels("delete").inc()
            with goes_on(runtime, f"{key.namespace}/{key.name} is over, and can't be deleted"):
                await runtime.cluster.delete(key.path, tracked.uid)


async def delete_data(runtime: Runtime) -> None:
    """Delete recipients' data that has been kept long enough, and old events. Raises the store's errors."""
    async with runtime.slow_ledger.use() as conn:
        await receipts.forget(conn)
        for namespace in await operating.namespaces(conn):
            with goes_on(runtime, f"namespace {namespace}: old contacts can't be deleted"):
                await retention.forget_contacts(conn, namespace)
            for campaign_id in await retention.due_campaigns(conn, namespace):
                with contextlib.suppress(RetentionError), goes_on(runtime, f"campaign {campaign_id} keeps its data"):
                    deleted = await retention.delete_data(conn, campaign_id)
                    logger.info("campaign %s: recipients' data deleted: %s", campaign_id, deleted)


async def look_at_providers(runtime: Runtime) -> None:
    """Bring what workers found out about providers into their statuses, and settings that failed into the store."""
    with goes_on(runtime, "providers that are gone can't be suspended"):
        await suspend_gone(runtime)
    for key in list(runtime.watched.providers):
        with goes_on(runtime, f"provider {key.namespace}/{key.name}"):
            await reconcile_provider(runtime, key)


async def look_at_actions(runtime: Runtime) -> None:
    """Copies of actions, annotations and all: kopf takes them for done, and calls nobody."""
    for key, action in list(runtime.watched.actions.items()):
        if HANDLED_ANNOTATION in action.subject.annotations and not is_over(action.subject.status):
            with goes_on(runtime, f"action {key.namespace}/{key.name}"):
                await reconcile_action(runtime, key)


# --- what a watch may have lost --------------------------------------------------------------------------------------
async def resync(runtime: Runtime) -> None:
    """List all objects of ours and all workers, and take in what was not watched. Raises ClusterError."""
    for kind in KINDS:
        await _resync(runtime, kind)
    await resync_workers(runtime)
    runtime.metrics.listed.now()


async def _resync(runtime: Runtime, kind: str) -> None:
    before = set(runtime.watched.campaigns) | set(runtime.watched.providers) | set(runtime.watched.actions)
    heard = runtime.canary.versions(kind)
    present: dict[Key, int] = {}
    async for body in _all(runtime, kind, {"limit": PAGE}):
        present[key_of(kind, body)] = version_of(body)
        runtime.watched.note(kind, body)
    runtime.canary.forget(heard, present)
    runtime.canary.compare(kind, present, time.monotonic())
    # what came while the list was being read is not in it
    gone = [key for key in before if key.kind == kind and key not in present]
    runtime.watched.forget(gone)
    if kind in {PROVIDER, CLUSTER_PROVIDER}:
        runtime.gone.update(gone)
        note_gone(runtime, kind, present)


async def _all(runtime: Runtime, kind: str, query: Mapping[str, str]) -> AsyncIterator[Object]:
    token: str | None = ""
    while token is not None:
        page = await runtime.cluster.get(listing(kind), {**query, **({"continue": token} if token else {})})
        for body in page.get("items", []):
            yield body
        token = page["metadata"].get("continue") or None


async def resync_workers(runtime: Runtime) -> None:
    """List the Deployments and Pods of all campaigns. Raises ClusterError.

    A watch that begins anew says nothing of what went meanwhile: what was known before, and is not in the list, is
    forgotten. Pods are not taken in: the watch shows those that are there.
    """
    for kind in (DEPLOYMENT, POD):
        before, heard = runtime.watched.workers(kind), runtime.canary.versions(kind)
        present: dict[Key, int] = {}
        async for body in _all(runtime, kind, {"limit": PAGE, "labelSelector": CAMPAIGN_LABEL}):
            present[key_of(kind, body)] = version_of(body)
            worker = runtime.watched.worker_of(body)
            before -= {worker} if worker else set()
            if kind == DEPLOYMENT:
                runtime.watched.note_deployment(body)
        runtime.watched.forget_workers(kind, before)
        runtime.canary.forget(heard, present)
        runtime.canary.compare(kind, present, time.monotonic())


async def background(runtime: Runtime, stop: asyncio.Event) -> None:
    """Do all of it until `stop`."""
    jobs = (
        (lambda: delete_expired(runtime), EXPIRY_SECONDS),
        (lambda: look_at_providers(runtime), PROVIDER_SECONDS),
        (lambda: look_at_actions(runtime), ACTION_SECONDS),
        (lambda: delete_data(runtime), RETENTION_SECONDS),
        (lambda: resync(runtime), runtime.settings.resync),
        (Measuring(runtime).measure, min(MEASURE_SECONDS, runtime.settings.resync)),
    )
    await asyncio.gather(*(repeat(runtime, job, seconds, stop) for job, seconds in jobs))
