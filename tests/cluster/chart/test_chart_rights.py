"""What the chart's roles let people do, asked of the API server itself."""

from __future__ import annotations

import pytest
from tests.cluster.chart.conftest import Room
from tools.cluster.waiting import until

QUESTIONS = {
    # who, by a binding of which role: (verb, resource) → may they?
    "view": {("get", "notificationcampaigns"): True, ("create", "notificationcampaigns"): False},
    "edit": {
        ("list", "notificationproviders"): True,
        ("create", "notificationcampaigns"): False,
        ("create", "notificationactions"): False,
    },
    "sendonce-editor": {
        ("create", "notificationcampaigns"): True,
        ("patch", "notificationactions"): True,
        ("patch", "notificationcampaigns/status"): False,
        ("get", "notificationcampaigns/recipients"): False,
        ("get", "secrets"): False,
    },
    "sendonce-recipients": {
        ("get", "notificationcampaigns/recipients"): True,
        ("get", "notificationcampaigns"): False,
    },
}


def may(room: Room, user: str, verb: str, resource: str) -> bool:
    plural, _, sub = resource.partition("/")
    group = "" if plural in {"secrets", "pods", "configmaps"} else ".sendonce.dev"
    asked = [verb, f"{plural}{group}", f"--as={user}", *([f"--subresource={sub}"] if sub else [])]
    return room.kubectl("auth", "can-i", *asked, check=False).strip() == "yes"


def test_people_may_what_their_roles_say(room: Room) -> None:
    assert room.install().returncode == 0
    for role in QUESTIONS:
        room.kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}-user")
    until(lambda: may(room, "view-user", "get", "notificationcampaigns"), "roles are aggregated", seconds=60)
    found = {
        role: {question: may(room, f"{role}-user", *question) for question in wanted}
        for role, wanted in QUESTIONS.items()
    }
    assert found == QUESTIONS


@pytest.mark.parametrize("given", ["", "postgresql://db.example:5432/sendonce"])
def test_the_operator_may_write_secrets_only_where_it_makes_logins(room: Room, given: str) -> None:
    assert room.install(f"--set=store.address={given}").returncode == 0
    user = f"system:serviceaccount:{room.namespace}:sendonce-operator"
    found = {verb: may(room, user, verb, "secrets") for verb in ("create", "get", "list", "watch", "patch", "delete")}
    assert found == {verb: verb == "create" and bool(given) for verb in found}
    named = room.kubectl("auth", "can-i", "patch", "secrets/sendonce-store", f"--as={user}", check=False).strip()
    assert named == ("yes" if given else "no")
