"""What helm refuses in a cluster: each with a clear message, and nothing of the release is there after it."""

from __future__ import annotations

import pytest
import yaml
from tests.cluster.chart.conftest import Room
from tools.chart.__main__ import CHART
from tools.cluster.places import ROOT


def assert_nothing_is_there(room: Room) -> None:
    assert room.releases() == []
    kinds = "deployments,jobs,serviceaccounts,roles,clusterroles,poddisruptionbudgets"
    labelled = room.kubectl("get", kinds, "-l", "app.kubernetes.io/part-of=sendonce", "-o", "name")
    assert labelled == ""


def test_without_the_database_s_secret_helm_says_how_to_make_it(room: Room) -> None:
    room.kubectl("delete", "secret", "sendonce-store")
    done = room.install()
    assert done.returncode != 0
    assert f"database.existingSecret: there is no Secret sendonce-store in namespace {room.namespace}" in done.stderr
    assert "kubectl create secret generic sendonce-store" in done.stderr
    assert_nothing_is_there(room)


def test_a_secret_without_the_key_is_told_with_the_keys_that_it_has(room: Room) -> None:
    done = room.install("--set=database.secretKey=uri")
    assert f"database.secretKey: Secret sendonce-store in namespace {room.namespace} has no key uri; it has: dsn" in (
        done.stderr
    )
    assert_nothing_is_there(room)


@pytest.mark.parametrize("kind", ["podMonitor", "prometheusRule"])
def test_without_the_prometheus_operator_its_kinds_are_named(room: Room, kind: str) -> None:
    done = room.install(f"--set=monitoring.{kind}.enabled=true")
    assert f"monitoring.{kind}.enabled: this cluster has no {kind[0].upper()}{kind[1:]}" in done.stderr
    assert_nothing_is_there(room)


def test_a_second_release_is_refused_with_the_name_of_the_first(room: Room) -> None:
    assert room.install().returncode == 0
    second = room.install(name="another")
    assert second.returncode != 0
    assert f"Sendonce runs in this cluster already: release sendonce in namespace {room.namespace}" in second.stderr
    assert room.releases() == ["sendonce"]
    upgraded = room.helm("upgrade", "sendonce", str(CHART), "--reuse-values")
    assert upgraded.returncode == 0, upgraded.stderr


def test_the_manifest_of_0_1_0_is_refused_with_the_way_on(room: Room) -> None:
    manifest = list(yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text("utf-8")))
    wanted = yaml.safe_dump_all([one for one in manifest if one["kind"] != "ServiceAccount"])
    room.cluster.kubectl("apply", "-f-", stdin=wanted)
    try:
        done = room.install()
        assert "installed from deploy/operator.yaml in namespace sendonce-system" in done.stderr
        assert room.releases() == []
    finally:
        room.cluster.kubectl("delete", "--wait=false", "--ignore-not-found", "-f-", stdin=wanted)


def test_who_may_only_edit_a_namespace_is_told_what_is_missing(room: Room) -> None:
    room.kubectl("create", "rolebinding", "edit", "--clusterrole=edit", "--user=ada")
    done = room.install("--kube-as-user=ada", "--kube-as-group=system:authenticated")
    assert done.returncode != 0
    assert 'User "ada" cannot' in done.stderr
    assert_nothing_is_there(room)


def test_crds_of_another_hand_are_taken_over_when_that_is_said(room: Room) -> None:
    given = ["--set=migrations.enabled=false"]
    refused = room.helm("install", "sendonce", str(CHART), *given)
    assert "invalid ownership metadata" in refused.stderr
    room.helm("uninstall", "sendonce", "--no-hooks", "--ignore-not-found")
    done = room.helm("install", "sendonce", str(CHART), *given, "--take-ownership", "--force-conflicts")
    assert done.returncode == 0, done.stderr
    shown = room.kubectl("get", "crd", "notificationcampaigns.sendonce.dev", "-o", "yaml")
    annotations = yaml.safe_load(shown)["metadata"]["annotations"]
    assert annotations["helm.sh/resource-policy"] == "keep"
    gone = room.helm("uninstall", "sendonce", "--no-hooks")
    assert "notificationcampaigns.sendonce.dev" in gone.stdout, "helm says what it keeps"
    assert "notificationcampaigns" in room.kubectl("get", "crd", "-o", "name")
