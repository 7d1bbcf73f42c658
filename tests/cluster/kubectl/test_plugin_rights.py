"""`kubectl campaign` on a real API server under plain Roles: what each may do, and what a missing right is told by."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from tests.cluster.kubectl.conftest import Shop
from tests.cluster.kubectl.person import Person, write_kubeconfig
from tests.cluster.operator.stage import campaign
from tests.cluster.reach import kubectl_program

from sendonce_kubectl.main import COMMANDS, cli

READY = {"type": "Ready", "status": "True", "reason": "Sending", "message": "3 of 9 deliveries have ended"}
STATUS = {
    "observedGeneration": 1,
    "deliveries": {"total": 9, "pending": 6, "sent": 3},
    "recipients": {"total": 9},
    "conditions": [{**READY, "lastTransitionTime": "2026-12-01T10:00:00Z"}],
}


@pytest.fixture(scope="module")
def viewer(shop: Shop) -> Person:
    return shop.person("viewer")


@pytest.fixture(scope="module")
def support(shop: Shop) -> Person:
    return shop.person("support")


def test_a_viewer_sees_campaigns_in_a_list_in_detail_and_as_objects(shop: Shop, viewer: Person) -> None:
    shop.apply(campaign("list") | {"metadata": {"name": "list", "labels": {"team": "a"}}})
    shop.status("list", STATUS)
    ran = viewer.run("status", "-l", "team=a")
    assert (ran.code, ran.err) == (0, "")
    head, line = ran.out.splitlines()
    assert head.split() == ["NAME", "STATUS", "TOTAL", "SENT", "FAILED", "UNCERTAIN", "PENDING", "ETA", "AGE"]
    assert line.split()[:7] == ["list", "Sending", "9", "3", "0", "0", "6"]
    assert "3 of 9 deliveries have ended" in viewer.run("status", "-l", "team=a", "-o", "wide").out
    assert "33 %, 3 of 9" in viewer.run("status", "nc/list").out
    assert viewer.run("status", "list", "-o", "json").data["metadata"]["name"] == "list"
    assert [one["metadata"]["name"] for one in viewer.run("status", "-l", "team=a", "-o", "json").data["items"]] == [
        "list"
    ]
    assert viewer.run("status", "-l", "team=a", "-o", "name").out == "notificationcampaign.sendonce.dev/list\n"
    assert "kind: NotificationCampaign\n" in viewer.run("status", "list", "-o", "yaml").out
    assert viewer.run("status", "-l", "team=none").out == "No campaigns found in this namespace.\n"


def test_a_campaign_that_is_not_there_is_told_by_its_name(viewer: Person) -> None:
    ran = viewer.run("status", "nowhere")
    assert (ran.code, ran.out) == (4, "")
    assert '"nowhere" not found' in ran.err


def test_a_namespace_of_others_is_not_shown(shop: Shop, viewer: Person) -> None:
    ran = viewer.run("status", "-n", "default")
    assert (ran.code, ran.out) == (5, "")
    assert "you may not list notificationcampaigns in namespace default" in ran.err
    assert "ClusterRole sendonce-viewer" in ran.err
    ran = viewer.run("status", "-A")
    assert "in all namespaces (-n NAMESPACE asks for one)" in ran.err


@pytest.mark.parametrize(
    ("role", "order", "missing"),
    [
        ("nobody", ["status", "spring"], "get notificationcampaigns"),
        ("viewer", ["retry", "spring"], "create notificationactions"),
        ("viewer", ["suspend", "spring"], "patch notificationcampaigns"),
        ("support", ["cancel", "spring", "--yes"], "patch notificationcampaigns"),
    ],
)
def test_a_missing_right_is_named_with_who_gives_it(shop: Shop, role: str, order: list[str], missing: str) -> None:
    ran = shop.person(role).run(*order)
    assert (ran.code, ran.out) == (5, "")
    assert f"you may not {missing} in namespace {shop.namespace}" in ran.err
    assert f"system:serviceaccount:{shop.namespace}:{role}" in ran.err


def test_a_token_that_is_none_is_told(shop: Shop, tmp_path: Path, viewer: Person) -> None:
    cluster = yaml.safe_load(viewer.kubeconfig.read_text("utf-8"))["clusters"][0]["cluster"]
    ran = Person(write_kubeconfig(tmp_path / "k", {"token": "forged"}, cluster)).run("status")
    assert ran.code == 5
    assert "does not know you" in ran.err


def test_an_api_server_that_is_away_is_told(tmp_path: Path) -> None:
    ran = Person(write_kubeconfig(tmp_path / "k", {"token": "t"}, {"server": "http://127.0.0.1:9"})).run("status")
    assert ran.code == 3
    assert "the API server can't be reached" in ran.err


# --- orders ----------------------------------------------------------------------------------------------------------
def orders(shop: Shop) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shop.cluster.kubectl("-n", shop.namespace, "get", "na", "-o", "json"))[
        "items"
    ]
    return found


def test_a_dry_run_orders_nothing(shop: Shop, support: Person) -> None:
    before = len(orders(shop))
    client = support.run("retry", "spring", "--code", "4.2.2", "--dry-run=client", "-o", "json")
    server = support.run("retry", "spring", "--code", "4.2.2", "--dry-run=server", "-o", "json")
    assert client.data["spec"] == {
        "campaignRef": {"name": "spring"},
        "type": "Retry",
        "deliveries": {"codes": ["4.2.2"]},
    }
    assert server.data["metadata"]["uid"]
    assert server.data["metadata"]["name"] == client.data["metadata"]["name"]
    states = support.run("retry", "spring", "--state", "expired", "--dry-run=client", "-o", "json").data["spec"]
    assert states["deliveries"] == {"states": ["Expired"]}
    assert "would be created (server dry run)" in support.run("promote", "spring", "--dry-run=server").out
    assert len(orders(shop)) == before


def test_an_order_that_is_given_twice_is_one_and_says_who_gave_it(shop: Shop, support: Person) -> None:
    first = support.run("retry", "spring", "--channel", "Email", "--no-wait", "-o", "name")
    again = support.run("retry", "spring", "--channel", "Email", "--no-wait")
    assert first.code == again.code == 0
    name = first.out.strip().split("/")[1]
    assert again.out == f"notificationaction.sendonce.dev/{name} was ordered before\n"
    found = [one for one in orders(shop) if one["metadata"]["name"] == name]
    who = f"system:serviceaccount:{shop.namespace}:support"
    assert found[0]["metadata"]["annotations"] == {"sendonce.dev/requested-by": who}


def test_a_name_that_orders_something_else_is_refused(support: Person) -> None:
    assert support.run("retry", "spring", "--name", "mine", "--no-wait").code == 0
    ran = support.run("retry", "spring", "--name", "mine", "--code", "5", "--no-wait")
    assert (ran.code, ran.out) == (1, "")
    assert "mine is there already and orders something else" in ran.err


def test_an_order_that_nobody_carries_out_stands_and_is_told(support: Person) -> None:
    ran = support.run("resolve", "spring", "--as", "sent", "--timeout", "0.5")
    assert (ran.code, ran.out) == (6, "")
    assert "was ordered and is not done after 0.5 s" in ran.err


def test_whoever_may_only_order_is_told_that_the_result_can_not_be_seen(shop: Shop) -> None:
    ran = shop.person("blind").run("resolve", "spring", "--as", "failed")
    assert ran.code == 0
    assert ran.out.endswith(" created\n")
    assert "what it does can't be seen: you may not watch notificationactions" in ran.err


def test_resend_and_cancel_are_not_ordered_without_a_yes(shop: Shop, support: Person) -> None:
    before = len(orders(shop))
    ran = support.run("resolve", "spring", "--as", "resend")
    assert (ran.code, ran.out) == (2, "")
    assert "can reach a person twice" in ran.err
    assert "Say --yes" in ran.err
    assert "Say --yes" in support.run("cancel", "spring").err
    assert len(orders(shop)) == before


@pytest.mark.parametrize(
    ("order", "told"),
    [
        (["retry", "spring", "--reason", "Bounced"], "is none of Permanent"),
        (["retry", "spring", "--channel", "Pigeon", "--no-wait"], "Pigeon"),
        (["retry", "spring", "--state", "Uncertain"], "'Uncertain' is not one of"),
        (["retry", "nowhere"], '"nowhere" not found'),
        (["status", "spring", "-A"], "leave out -A"),
        (["status", "--frobnicate"], "No such option"),
        (["retry"], "Missing argument 'CAMPAIGN'"),
        (["status", "--context", "elsewhere"], "elsewhere"),
    ],
)
def test_wrong_input_is_told_and_orders_nothing(shop: Shop, support: Person, order: list[str], told: str) -> None:
    before = len(orders(shop))
    ran = support.run(*order)
    assert ran.code in {2, 4}
    assert ran.out == ""
    assert told in ran.err
    assert len(orders(shop)) == before


def test_a_suspend_that_nobody_hears_is_wished_and_told(shop: Shop) -> None:
    editor = shop.person("editor")
    shop.apply(campaign("wished"))
    ran = editor.run("suspend", "wished", "--timeout", "0.5")
    assert (ran.code, ran.out) == (6, "")
    assert "the wish stands" in ran.err
    assert editor.run("status", "wished", "-o", "json").data["spec"]["suspend"] is True
    assert editor.run("resume", "wished", "--no-wait").out.endswith("/wished patched\n")


def test_what_is_not_stopped_is_not_resumed(shop: Shop) -> None:
    shop.apply(campaign("running"))
    shop.status("running", STATUS)
    ran = shop.person("editor").run("resume", "running")
    assert (ran.code, ran.out) == (1, "")
    assert "running is not stopped: Sending" in ran.err


# --- as they change --------------------------------------------------------------------------------------------------
def test_a_campaign_that_is_deleted_while_it_is_watched_is_told(shop: Shop, viewer: Person) -> None:
    shop.apply(campaign("gone"))
    watching = viewer.start("status", "gone", "-w")
    assert watching.stdout is not None
    assert [watching.stdout.readline().split()[0] for _ in range(2)] == ["NAME", "gone"]
    shop.status("gone", STATUS)
    assert watching.stdout.readline().split()[:3] == ["gone", "Sending", "9"]
    shop.cluster.kubectl("-n", shop.namespace, "delete", "nc", "gone")
    _, err = watching.communicate(timeout=60)
    assert watching.returncode == 4
    assert "gone was deleted" in err


def test_a_watch_goes_on_when_the_api_server_was_away(shop: Shop, viewer: Person) -> None:
    shop.apply(campaign("patient"))
    watching = viewer.start("status", "patient", "-w")
    assert watching.stdout is not None
    assert watching.stderr is not None
    assert [watching.stdout.readline().split()[0] for _ in range(2)] == ["NAME", "patient"]
    shop.cluster.stop("kube-apiserver", grace=0.0)
    assert "trying again" in watching.stderr.readline()
    shop.cluster.start("kube-apiserver")
    ended = {**STATUS, "deliveries": {"total": 3, "sent": 3}, "completionTime": "2026-12-01T11:00:00Z"}
    for _ in range(100):
        try:
            shop.status("patient", ended)
            break
        except AssertionError:
            time.sleep(0.1)
    assert watching.stdout.readline().split()[:4] == ["patient", "Sending", "3", "3"]
    assert watching.wait(timeout=60) == 0
    watching.stdout.close()
    watching.stderr.close()


def test_all_campaigns_are_watched_until_a_person_stops(shop: Shop, viewer: Person) -> None:
    watching = viewer.start("status", "-w", "-l", "watched=yes")
    assert watching.stdout is not None
    shop.apply(campaign("seen") | {"metadata": {"name": "seen", "labels": {"watched": "yes"}}})
    assert [watching.stdout.readline().split()[:2] for _ in range(2)] == [["NAME", "STATUS"], ["seen", "Unknown"]]
    shop.status("seen", STATUS)
    assert watching.stdout.readline().split()[:3] == ["seen", "Sending", "9"]
    shop.cluster.kubectl("-n", shop.namespace, "delete", "nc", "seen")
    assert watching.stdout.readline().split()[:2] == ["seen", "Terminating"]
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=60)
    assert (watching.returncode, err.strip()) == (130, "")


# --- words completed -------------------------------------------------------------------------------------------------
def test_kubectl_completes_commands_and_the_names_of_campaigns(viewer: Person, tmp_path: Path) -> None:
    assert CliRunner().invoke(cli, ["completion", "--write", str(tmp_path)]).exit_code == 0
    path = f"{tmp_path}:{Path(sys.executable).parent}:{Path(kubectl_program()).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(viewer.kubeconfig)}
    for words, found in ((["ret"], "retry"), (["status", "spr"], "spring"), (["retry", "spring", "--st"], "--state")):
        asked = [kubectl_program(), "__complete", "campaign", *words]
        ran = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
        assert [line.split("\t")[0] for line in ran.stdout.splitlines()] == [found, ":4"], ran.stderr


def test_each_command_has_help_with_an_example() -> None:
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.help
        assert "Example" in (command.epilog or ""), name
