"""What the watches have shown: the newest of each object, whatever order it comes in."""

from __future__ import annotations

from typing import Any

import pytest

from sendonce_operator.objects import CAMPAIGN, PROVIDER
from sendonce_operator.paths import CAMPAIGN_LABEL, Key
from sendonce_operator.watched import Watched

KEY = Key(CAMPAIGN, "default", "spring")
SPEC = {
    "category": "Transactional",
    "recipients": {"inline": [{"email": "a@example.com"}]},
    "messages": [
        {
            "channel": "Email",
            "providerRef": {"name": "api"},
            "template": {"from": "a@example.com", "subject": "s", "text": "t"},
        }
    ],
}


def body(version: int, uid: str = "u", **given: Any) -> dict[str, Any]:
    metadata = {
        "name": "spring",
        "namespace": "default",
        "uid": uid,
        "generation": 1,
        "resourceVersion": str(version),
        "creationTimestamp": "2026-11-01T10:00:00Z",
    }
    return {"metadata": metadata, "spec": SPEC, **given}


@pytest.fixture
def changed() -> list[Key]:
    return []


@pytest.fixture
def watched(changed: list[Key]) -> Watched:
    return Watched(changed.append)


def version(watched: Watched) -> str:
    return watched.campaigns[KEY].subject.resource_version


def test_an_event_that_is_older_than_what_is_known_is_passed_over(watched: Watched, changed: list[Key]) -> None:
    watched.note(CAMPAIGN, body(10))
    watched.note(CAMPAIGN, body(9))
    assert version(watched) == "10"
    assert changed == [KEY]
    watched.note(CAMPAIGN, body(100))
    assert version(watched) == "100"


def test_what_is_known_already_is_not_read_again(watched: Watched) -> None:
    first = watched.note(CAMPAIGN, body(10))
    assert watched.note(CAMPAIGN, body(10)) is first
    assert watched.note(CAMPAIGN, body(10), gone=True) is None, "but that it is gone is news"


def test_a_status_alone_is_known_and_wakes_nobody(watched: Watched, changed: list[Key]) -> None:
    watched.note(CAMPAIGN, body(10))
    watched.note(CAMPAIGN, body(11, status={"startTime": "2026-11-01T10:00:00Z"}))
    assert version(watched) == "11"
    assert changed == [KEY]


@pytest.mark.parametrize(
    "change", [{"generation": 2}, {"annotations": {"a": "b"}}, {"deletionTimestamp": "2026-11-01T10:00:00Z"}]
)
def test_every_other_change_wakes_the_loop(watched: Watched, changed: list[Key], change: dict[str, Any]) -> None:
    watched.note(CAMPAIGN, body(10))
    later = body(11)
    watched.note(CAMPAIGN, {**later, "metadata": {**later["metadata"], **change}})
    assert changed == [KEY, KEY]


def test_an_older_deletion_does_not_take_away_what_has_been_made_since(watched: Watched) -> None:
    watched.note(CAMPAIGN, body(10))
    watched.note(CAMPAIGN, body(9), gone=True)
    assert KEY in watched.campaigns
    watched.note(CAMPAIGN, body(11), gone=True)
    assert KEY not in watched.campaigns


def test_another_object_of_the_same_name_takes_the_place_of_the_first(watched: Watched) -> None:
    watched.note(CAMPAIGN, body(10, uid="first"))
    watched.note(CAMPAIGN, body(12, uid="second"))
    assert watched.campaigns[KEY].subject.uid == "second"


def test_a_spec_that_can_not_be_read_is_known_with_its_mistake(watched: Watched) -> None:
    seen = watched.note(CAMPAIGN, body(10, spec={"category": "Other"}))
    assert seen is not None
    assert seen.spec is None
    assert seen.invalid is not None


def test_a_campaign_is_found_by_its_provider(watched: Watched) -> None:
    watched.note(CAMPAIGN, body(10))
    assert [one.key for one in watched.users_of(Key(PROVIDER, "default", "api"))] == [KEY]
    assert watched.users_of(Key(PROVIDER, "other", "api")) == []
    assert watched.users_of(Key("ClusterNotificationProvider", "", "api")) == []


def test_what_a_list_no_longer_has_is_forgotten(watched: Watched, changed: list[Key]) -> None:
    watched.note(CAMPAIGN, body(10))
    watched.forget([KEY, Key(CAMPAIGN, "default", "never-seen")])
    assert KEY not in watched.campaigns
    assert changed == [KEY, KEY]


def pod(name: str, *, label: bool = True, waiting: str | None = None) -> dict[str, Any]:
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": {CAMPAIGN_LABEL: "spring"} if label else {},
            "creationTimestamp": "2026-11-01T10:00:00Z",
        },
        "status": {"containerStatuses": [{"state": state}]},
    }


def deployment(replicas: int, ready: int) -> dict[str, Any]:
    metadata = {"name": "sendonce-spring", "namespace": "default", "labels": {CAMPAIGN_LABEL: "spring"}}
    return {"metadata": metadata, "spec": {"replicas": replicas}, "status": {"readyReplicas": ready}}


def test_a_campaigns_workers_are_those_of_its_label(watched: Watched) -> None:
    assert watched.workforce(KEY).desired == 0
    watched.note_deployment(deployment(3, 1))
    watched.note_pod(pod("a"))
    watched.note_pod(pod("stranger", label=False, waiting="ImagePullBackOff"))
    force = watched.workforce(KEY)
    assert (force.desired, force.ready, force.trouble) == (3, 1, None)
    watched.note_pod(pod("b", waiting="ImagePullBackOff"))
    trouble = watched.workforce(KEY).trouble
    assert trouble is not None
    assert trouble.reason == "ImagePullBackOff"
    watched.note_pod(pod("b", waiting="ImagePullBackOff"), gone=True)
    assert watched.workforce(KEY).trouble is None
    watched.note_deployment(deployment(3, 1), gone=True)
    assert watched.workforce(KEY).desired == 0


def test_the_end_of_an_object_that_was_made_again_may_come_late(watched: Watched) -> None:
    watched.note(CAMPAIGN, body(10, uid="old"))
    watched.note(CAMPAIGN, body(12, uid="new"))
    assert watched.note(CAMPAIGN, body(11, uid="old"), gone=True) is not None
    assert version(watched) == "12"
    new = deployment(3, 1)
    new["metadata"]["uid"] = "new"
    watched.note_deployment(new)
    watched.note_deployment(deployment(1, 1), gone=True)
    assert watched.workforce(KEY).desired == 3
