"""Why Pods don't run, as Kubernetes writes it into them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sendonce_operator.pods import trouble_of, workforce

CREATED = "2026-11-01T10:00:00Z"
LATER = "2026-11-01T10:05:00Z"


def pod(status: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "creationTimestamp": CREATED, **metadata}, "status": status}


def container(**state: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "worker", **state}]}


def deployment(replicas: int, **status: Any) -> dict[str, Any]:
    return {"spec": {"replicas": replicas}, "status": status}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    "status",
    [
        {},
        container(state={"running": {"startedAt": LATER}}),
        container(state={"waiting": {"reason": "ContainerCreating"}}),
        container(state={"waiting": {"reason": "PodInitializing"}}),
        container(state={"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": LATER}}),
        {"conditions": [{"type": "PodScheduled", "status": "True"}]},
    ],
)
def test_a_pod_that_runs_or_is_on_its_way_has_no_trouble(status: dict[str, Any]) -> None:
    assert trouble_of(pod(status)) is None


def test_a_pod_that_no_node_takes_says_so_in_the_schedulers_words() -> None:
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
    trouble = trouble_of(pod({"conditions": [{**told, "lastTransitionTime": LATER}]}))
    assert trouble is not None
    assert (trouble.reason, trouble.message, trouble.since) == ("Unschedulable", "0/3 nodes are available", at(LATER))


def test_an_image_that_cannot_be_pulled_is_trouble_since_the_pod_was_made() -> None:
    trouble = trouble_of(pod(container(state={"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}})))
    assert trouble is not None
    assert (trouble.reason, trouble.message, trouble.since) == ("ImagePullBackOff", "Back-off", at(CREATED))


def test_a_container_that_crashes_again_and_again_says_its_own_last_words() -> None:
    ended = {"exitCode": 2, "reason": "Error", "message": "SecretNotFound: Secret api\n", "finishedAt": LATER}
    status = container(
        state={"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}}, lastState={"terminated": ended}
    )
    trouble = trouble_of(pod(status))
    assert trouble is not None
    assert (trouble.reason, trouble.message) == ("CrashLoopBackOff", "SecretNotFound: Secret api")
    assert (trouble.exit_code, trouble.since) == (2, at(LATER))


@pytest.mark.parametrize(
    ("code", "restarts", "since"), [(2, 0, LATER), (2, 1, CREATED), (3, 1, LATER), (137, 1, LATER)]
)
def test_a_worker_that_was_started_again_and_asks_for_a_person_again_is_trouble_from_the_beginning(
    code: int, restarts: int, since: str
) -> None:
    ended = {"exitCode": code, "reason": "Error", "message": "SecretNotFound: Secret api", "finishedAt": LATER}
    state = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended}}
    trouble = trouble_of(pod(container(**state, restartCount=restarts)))
    assert trouble is not None
    assert trouble.since == at(since)


def test_a_container_that_crashed_is_trouble_until_it_is_ready_again() -> None:
    ended = {"exitCode": 2, "reason": "Error", "message": "SecretNotFound: Secret api", "finishedAt": LATER}
    again = {"state": {"running": {"startedAt": LATER}}, "lastState": {"terminated": ended}}
    trouble = trouble_of(pod(container(**again, ready=False)))
    assert trouble is not None
    assert (trouble.reason, trouble.message, trouble.exit_code) == ("Error", "SecretNotFound: Secret api", 2)
    assert trouble.since == at(LATER)
    assert trouble_of(pod(container(**again, ready=True))) is None


def test_a_container_that_ended_well_and_starts_again_has_no_trouble() -> None:
    ended = {"exitCode": 0, "reason": "Completed", "finishedAt": LATER}
    again = {"state": {"running": {"startedAt": LATER}}, "lastState": {"terminated": ended}}
    assert trouble_of(pod(container(**again, ready=False))) is None


def test_a_pod_that_is_being_deleted_is_nobodys_trouble() -> None:
    status = container(state={"terminated": {"exitCode": 143, "reason": "Error", "finishedAt": LATER}})
    assert trouble_of(pod(status, deletionTimestamp=LATER)) is None


def test_no_deployment_is_no_workers() -> None:
    found = workforce(None, [])
    assert (found.desired, found.ready, found.trouble) == (0, 0, None)


def test_a_deployment_that_may_make_no_pods_is_trouble() -> None:
    refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}
    found = workforce(deployment(2, conditions=[{**refused, "lastTransitionTime": LATER}]), [])
    assert found.trouble is not None
    assert (found.trouble.reason, found.trouble.message) == ("FailedCreate", "exceeded quota")


def test_the_trouble_that_lasts_longest_is_told_and_none_where_no_workers_are_wanted() -> None:
    young = trouble_of(pod(container(state={"waiting": {"reason": "ErrImagePull"}}), creationTimestamp=LATER))
    old = trouble_of(pod(container(state={"waiting": {"reason": "ImagePullBackOff"}})))
    assert workforce(deployment(2), [young, None, old]).trouble == old
    assert workforce(deployment(0), [young, old]).trouble is None


def test_since_when_no_worker_is_ready_is_told_until_one_is() -> None:
    absent = {"type": "Available", "status": "False", "lastTransitionTime": LATER}
    assert workforce(deployment(2, conditions=[absent]), []).absent_since == at(LATER)
    assert workforce(deployment(2, conditions=[absent], readyReplicas=1), []).absent_since is None
    assert workforce(deployment(0, conditions=[absent]), []).absent_since is None
