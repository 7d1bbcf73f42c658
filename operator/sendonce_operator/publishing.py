"""A status as decided goes to its object: a patch of what differs, not too often, and Events on transitions.

The status subresource is patched by path and uid: a new object of the same name gets nothing of the old one's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from sendonce_operator import paths
from sendonce_operator.cluster import ClusterError, NotFoundError
from sendonce_operator.decisions.events import Event
from sendonce_operator.decisions.patching import merge_patch
from sendonce_operator.objects import AnySeen
from sendonce_operator.paths import API_VERSION, Key
from sendonce_operator.runtime import Runtime

logger = logging.getLogger(__name__)
CONTROLLER = "sendonce.dev/operator"
# what the API server takes
LONGEST_NOTE = 1024


async def publish(runtime: Runtime, seen: AnySeen, status: Mapping[str, Any], events: Sequence[Event]) -> bool:
    """Write the status if it differs, then the events; returns whether it was written. Raises ClusterError."""
    patch = merge_patch(seen.wire, status)
    if not patch:
        return False
    body = {"metadata": {"uid": seen.subject.uid}, "status": patch}
    runtime.metrics.writes.labels("status").inc()
    try:
        written = await runtime.cluster.patch(seen.key.status_path, body)
    except NotFoundError:
        return False
    runtime.watched.note(seen.key.kind, written)
    for event in events:
        await tell(runtime, seen, event)
    return True


async def tell(runtime: Runtime, seen: AnySeen, event: Event) -> None:
    """Write an Event about an object. One that can't be written is only logged: the status says the same."""
    runtime.metrics.writes.labels("event").inc()
    namespace = seen.key.namespace or "default"
    try:
        await runtime.cluster.create(paths.events(namespace), _event(runtime, seen.key, seen.subject.uid, event))
    except ClusterError as error:
        logger.warning("event %s of %s: %s", event.reason, seen.key.name, error)


def _event(runtime: Runtime, key: Key, uid: str, event: Event) -> dict[str, Any]:
    namespace = key.namespace or "default"
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": f"{key.name}-", "namespace": namespace},
        "regarding": {
            "apiVersion": API_VERSION,
            "kind": key.kind,
            "name": key.name,
            "namespace": key.namespace,
            "uid": uid,
        },
        "type": event.type,
        "reason": event.reason,
        "action": "Reconcile",
        "note": event.message[:LONGEST_NOTE],
        "eventTime": runtime.now().strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
        "reportingController": CONTROLLER,
        "reportingInstance": runtime.settings.identity[:128],
    }


def may_write(runtime: Runtime, patched_at: float) -> bool:
    """Whether an object's status may be written again: at once after a quiet time, then every so often.

    Looks are a tick apart, more or less: half a tick too early is in time, or the write would wait for one more.
    """
    settings = runtime.settings
    since = asyncio.get_running_loop().time() - patched_at
    return since >= settings.status_interval - min(settings.tick, settings.status_interval) / 2
