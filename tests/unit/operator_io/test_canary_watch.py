"""A watch that has died in silence is noticed by what it does not show."""

from __future__ import annotations

from sendonce_operator.canary import Canary
from sendonce_operator.paths import Key

KIND = "NotificationCampaign"


def body(name: str, version: int) -> dict[str, dict[str, str]]:
    return {"metadata": {"namespace": "default", "name": name, "resourceVersion": str(version)}}


def key(name: str) -> Key:
    return Key(KIND, "default", name)


def test_watches_are_well_while_nothing_happens() -> None:
    canary = Canary()
    assert canary.age(now=1_000_000.0) == 0
    canary.hear(KIND, body("a", 5), gone=False)
    canary.compare(KIND, {key("a"): 5}, now=10.0)
    assert canary.age(now=1_000_000.0) == 0


def test_a_change_that_only_the_list_shows_ages_until_the_watch_shows_it_too() -> None:
    canary = Canary()
    canary.hear(KIND, body("a", 5), gone=False)
    canary.compare(KIND, {key("a"): 7}, now=10.0)
    assert canary.age(now=12.0) == 2.0
    canary.compare(KIND, {key("a"): 9}, now=70.0)
    assert canary.age(now=72.0) == 62.0, "the oldest change counts"
    canary.hear(KIND, body("a", 9), gone=False)
    assert canary.age(now=100.0) == 0


def test_an_object_that_the_watch_never_showed_ages_too() -> None:
    canary = Canary()
    canary.compare(KIND, {key("new"): 3}, now=10.0)
    assert canary.age(now=15.0) == 5.0


def test_what_is_gone_from_the_list_is_not_waited_for() -> None:
    canary = Canary()
    canary.compare(KIND, {key("a"): 3, key("b"): 4}, now=10.0)
    canary.compare(KIND, {key("b"): 4}, now=70.0)
    assert canary.age(now=80.0) == 70.0
    canary.hear(KIND, body("b", 4), gone=True)
    assert canary.age(now=80.0) == 0


def test_the_end_of_an_object_that_was_made_again_comes_late_and_says_nothing_of_the_new_one() -> None:
    canary = Canary()
    canary.hear(KIND, body("a", 9), gone=False)
    canary.hear(KIND, body("a", 8), gone=True)
    canary.compare(KIND, {key("a"): 9}, now=10.0)
    assert canary.age(now=1000.0) == 0


def test_an_older_version_does_not_stand_for_a_newer_one() -> None:
    canary = Canary()
    canary.compare(KIND, {key("a"): 9}, now=10.0)
    canary.hear(KIND, body("a", 8), gone=False)
    assert canary.age(now=20.0) == 10.0
