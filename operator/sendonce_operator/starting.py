"""A campaign begins: its object says which store has it, and since when its content is frozen.

Both are written with the resourceVersion of the object that the row was made from. If the object was edited meanwhile,
the API server refuses, and the row is frozen anew from the edit. Only then may workers look at the row.
"""

from __future__ import annotations

from sendonce_operator.cluster import Cluster, ConflictError, Object
from sendonce_operator.objects import CAMPAIGN, Campaign
from sendonce_operator.paths import LEDGER_ANNOTATION
from sendonce_operator.runtime import Runtime
from sendonce_operator.signals import BusyError
from sendonce_store.connection import Connection

MOST_TRIES = 5


async def start(runtime: Runtime, conn: Connection, campaign: Campaign) -> None:
    """Write annotation and startTime if they are missing. Raises BusyError after an edit, ClusterError."""
    store, now = await runtime.store_id(conn), campaign
    for _ in range(MOST_TRIES):
        if _is_started(now, store):
            return
        try:
            body = await _start(runtime, now, store)
        except ConflictError:
            # somebody wrote to the object; only an edit of its spec matters
            now = await _same_spec(runtime, campaign)
        else:
            runtime.watched.note(CAMPAIGN, body)
            return
    message = f"{campaign.key.name} changes faster than it can be started"
    raise BusyError(message)


def _is_started(campaign: Campaign, store: str) -> bool:
    status = campaign.subject.status
    annotated = campaign.subject.annotations.get(LEDGER_ANNOTATION) == store
    return annotated and status is not None and status.start_time is not None


async def _same_spec(runtime: Runtime, campaign: Campaign) -> Campaign:
    """The object as it is now, if its spec is still the one that the row was made from."""
    body = await runtime.cluster.find(campaign.key.path)
    seen = runtime.watched.note(CAMPAIGN, body) if body is not None else None
    if seen is None or seen.at != campaign.at or seen.subject.deleting:
        message = f"{campaign.key.name} was edited while it was being started"
        raise BusyError(message)
    return seen


async def _start(runtime: Runtime, campaign: Campaign, store: str) -> Object:
    body = await _annotate(runtime.cluster, campaign, store)
    status = campaign.subject.status
    if status is not None and status.start_time is not None:
        return body
    return await _set_start(runtime, campaign, body["metadata"]["resourceVersion"])


async def _annotate(cluster: Cluster, campaign: Campaign, store: str) -> Object:
    subject = campaign.subject
    metadata = {"annotations": {LEDGER_ANNOTATION: store}, **precondition(campaign, subject.resource_version)}
    return await cluster.patch(campaign.key.path, {"metadata": metadata})


async def _set_start(runtime: Runtime, campaign: Campaign, version: str) -> Object:
    now = runtime.now().isoformat().replace("+00:00", "Z")
    body = {"metadata": precondition(campaign, version), "status": {"startTime": now}}
    return await runtime.cluster.patch(campaign.key.status_path, body)


def precondition(campaign: Campaign, version: str) -> dict[str, str]:
    """The metadata that make a patch apply to this object in this version, and to no other."""
    return {"uid": campaign.subject.uid, "resourceVersion": version}
