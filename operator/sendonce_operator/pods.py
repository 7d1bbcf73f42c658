"""Why a campaign's Pods do not run: Pods and their Deployment in, the workforce out. Pure.

The words are Kubernetes' own: the reason of a container that waits or has ended, the condition PodScheduled, the
Deployment's condition ReplicaFailure (a quota, a policy).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sendonce_operator.decisions.facts import PodTrouble, Workforce
from sendonce_operator.objects import moment

Object = Mapping[str, Any]
# what a container may be waiting for without anything being wrong
_HARMLESS = {"ContainerCreating", "PodInitializing"}
# the worker's exit code when it names what a person must mend (sendonce-worker)
_CONFIGURATION = 2


def workforce(deployment: Object | None, troubles: Iterable[PodTrouble | None]) -> Workforce:
    """What the cluster shows of a campaign's workers."""
    if deployment is None:
        return Workforce()
    desired = int(deployment.get("spec", {}).get("replicas", 1))
    status = deployment.get("status") or {}
    found = [trouble for trouble in (*troubles, _refused(status)) if trouble is not None]
    return Workforce(
        desired=desired,
        ready=int(status.get("readyReplicas", 0)),
        trouble=min(found, key=lambda trouble: trouble.since, default=None) if desired else None,
        absent_since=_absent_since(status) if desired else None,
    )


def _refused(status: Object) -> PodTrouble | None:
    condition = _condition(status, "ReplicaFailure", "True")
    return None if condition is None else _of_condition(condition)


def _absent_since(status: Object) -> datetime | None:
    condition = _condition(status, "Available", "False")
    return None if condition is None or status.get("readyReplicas") else moment(condition.get("lastTransitionTime"))


def _condition(status: Object, kind: str, value: str) -> Object | None:
    conditions: list[Object] = status.get("conditions") or []
    return next((one for one in conditions if one["type"] == kind and one["status"] == value), None)


def _of_condition(condition: Object) -> PodTrouble | None:
    since = moment(condition.get("lastTransitionTime"))
    if since is None:
        return None
    return PodTrouble(condition.get("reason", ""), condition.get("message", ""), since)


def trouble_of(pod: Object) -> PodTrouble | None:
    """Why a Pod does not run; None for one that runs, ends, or is being started."""
    if pod["metadata"].get("deletionTimestamp"):
        return None
    status = pod.get("status") or {}
    created = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
    return next(_container_troubles(status, created), None) or _unscheduled(status)


def _unscheduled(status: Object) -> PodTrouble | None:
    condition = _condition(status, "PodScheduled", "False")
    return None if condition is None else _of_condition(condition)


def _container_troubles(status: Object, created: datetime) -> Iterator[PodTrouble]:
    for container in status.get("containerStatuses") or []:
        state, before = container.get("state") or {}, container.get("lastState") or {}
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason") not in _HARMLESS:
            found = _waiting(waiting, before.get("terminated"), created)
        elif ended and ended.get("exitCode"):
            found = _terminated(ended, created)
        elif _has_crashed(container):
            found = _terminated(before["terminated"], created)
        else:
            continue
        yield _as_old_as_the_pod(found, created) if container.get("restartCount") else found


def _as_old_as_the_pod(trouble: PodTrouble, created: datetime) -> PodTrouble:
    """A worker that was started again and says the same is believed: each restart would else make its trouble new."""
    return replace(trouble, since=created) if trouble.exit_code == _CONFIGURATION else trouble


def _has_crashed(container: Object) -> bool:
    """It runs again, but has not yet shown that it works: else the state would change with each restart."""
    state, before = container.get("state") or {}, container.get("lastState") or {}
    ended = before.get("terminated") or {}
    return "running" in state and not container.get("ready") and bool(ended.get("exitCode"))


def _waiting(waiting: Object, ended: Object | None, created: datetime) -> PodTrouble:
    """What a container waits for; one that crashed has its own words, and they say more."""
    if ended is None:
        return PodTrouble(waiting.get("reason", ""), waiting.get("message", ""), created)
    told = _terminated(ended, created)
    return PodTrouble(waiting.get("reason", ""), told.message or waiting.get("message", ""), told.since, told.exit_code)


def _terminated(ended: Object, created: datetime) -> PodTrouble:
    since = moment(ended.get("finishedAt")) or created
    return PodTrouble(ended.get("reason", "Error"), ended.get("message", "").strip(), since, ended.get("exitCode"))
