"""The look before an uninstall, with the rights that the chart's hook has and no other."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.chart.conftest import Room
from tests.cluster.reach import Cluster
from tools.cluster.waiting import until

from sendonce_cli.chart.api import Api
from sendonce_cli.chart.leaving import ANNOTATION, FINALIZER, Leaving, Policy
from sendonce_cli.exits import CliError

OPERATOR = "sendonce-operator"
BEGUN = {"startTime": "2026-12-01T00:00:00Z", "deliveries": {"total": 5, "sent": 2}}
ENDED = {**BEGUN, "completionTime": "2026-12-01T01:00:00Z"}
SPEC = {
    "category": "Transactional",
    "recipients": {"inline": [{"id": "a", "email": "a@example.com"}]},
    "messages": [
        {
            "channel": "Email",
            "providerRef": {"name": "api"},
            "template": {"from": "a@example.com", "subject": "A", "text": "A"},
        }
    ],
}


def campaign(room: Room, name: str, status: dict[str, Any] | None) -> None:
    """A campaign that the operator has seen, as far as its status says."""
    metadata = {"name": name, "finalizers": [FINALIZER]}
    body = {"apiVersion": "sendonce.dev/v1alpha1", "kind": "NotificationCampaign", "metadata": metadata, "spec": SPEC}
    room.kubectl("apply", "-f-", stdin=json.dumps(body))
    if status is not None:
        patch = ["--subresource=status", "--type=merge", "-p", json.dumps({"status": status})]
        room.kubectl("patch", "nc", name, *patch)


@pytest.fixture
def leaving(room: Room, tmp_path: Path) -> Any:
    """Return what makes an uninstall by its policy, as the hook's ServiceAccount, in a cluster without campaigns."""
    until(lambda: swept(room.cluster), "what other tests have applied is gone", seconds=90)
    assert room.install().returncode == 0
    hooks = [one for one in yaml.safe_load_all(room.helm("get", "hooks", "sendonce").stdout) if one]
    rights = [one for one in hooks if one["metadata"]["name"] == "sendonce-uninstall" and one["kind"] != "Job"]
    assert {one["kind"] for one in rights} == {
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
    }
    room.kubectl("apply", "-f-", stdin=yaml.safe_dump_all(rights))
    (tmp_path / "token").write_text(room.kubectl("create", "token", "sendonce-uninstall"), "utf-8")
    (tmp_path / "namespace").write_text(room.namespace, "utf-8")
    config = yaml.safe_load(room.cluster.kubeconfig.read_text("utf-8"))
    api = Api(config["clusters"][0]["cluster"]["server"], tmp_path, verify=False)
    yield lambda policy, timeout=30.0: Leaving(api, OPERATOR, policy, timeout)
    api.close()
    for one in ("clusterrole", "clusterrolebinding"):
        room.cluster.kubectl("delete", one, "sendonce-uninstall", "--ignore-not-found")
    names = room.kubectl("get", "nc", "-o", "name").split()
    for name in names:
        room.kubectl("patch", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        room.kubectl("delete", name)


def swept(cluster: Cluster) -> bool:
    """Whether there is no campaign and no provider; those of other tests, whose operators are gone, are let go."""
    found = json.loads(cluster.kubectl("get", "nc,np", "--all-namespaces", "-o", "json"))["items"]
    for one in found:
        named = (one["kind"], one["metadata"]["name"], "-n", one["metadata"]["namespace"])
        cluster.kubectl("patch", *named, "--type=merge", '-p={"metadata":{"finalizers":null}}', check=False)
        cluster.kubectl("delete", *named, "--wait=false", "--ignore-not-found", check=False)
    return not found


def replicas(room: Room) -> str:
    return room.kubectl("get", "deployment", OPERATOR, "-o", "jsonpath={.spec.replicas}")


def finalizers(room: Room, name: str) -> str:
    return room.kubectl("get", "nc", name, "-o", "jsonpath={.metadata.finalizers}")


def test_a_campaign_under_way_is_a_reason_to_refuse_and_nothing_changes(room: Room, leaving: Any) -> None:
    campaign(room, "spring", BEGUN)
    campaign(room, "winter", ENDED)
    with pytest.raises(CliError) as caught:
        leaving(Policy.REFUSE).run()
    first, *ways = caught.value.problems
    assert first == (
        f"uninstall.policy Refuse: 1 campaign is not finished: {room.namespace}/spring (2 of 5 sent). "
        "Nothing was taken away."
    )
    assert f"kubectl -n {room.namespace} annotate deployment {OPERATOR} {ANNOTATION}=Leave" in ways[1]
    assert (replicas(room), finalizers(room, "spring")) == ("1", f'["{FINALIZER}"]')


def test_what_is_finished_or_has_not_begun_lets_the_operator_go_and_no_finalizer_is_left(
    room: Room, leaving: Any
) -> None:
    campaign(room, "winter", ENDED)
    campaign(room, "refused", None)
    said = leaving(Policy.REFUSE).run()
    assert said[1] == "  the CRDs, 2 campaigns and 0 providers"
    assert (replicas(room), finalizers(room, "winter"), finalizers(room, "refused")) == ("0", "", "")
    room.kubectl("delete", "nc", "winter", "refused", "--timeout=20s")


def test_the_annotation_lets_workers_go_on_without_an_operator(room: Room, leaving: Any) -> None:
    campaign(room, "spring", BEGUN)
    room.kubectl("annotate", "deployment", OPERATOR, f"{ANNOTATION}=Leave")
    said = leaving(Policy.REFUSE).run()
    assert said[1] == "  the CRDs, 1 campaign (1 not finished: workers go on) and 0 providers"
    assert (replicas(room), finalizers(room, "spring")) == ("0", "")


def test_an_annotation_that_is_no_policy_is_told(room: Room, leaving: Any) -> None:
    room.kubectl("annotate", "deployment", OPERATOR, f"{ANNOTATION}=leave")
    with pytest.raises(CliError, match="leave is no policy: use one of Refuse, Wait, Leave"):
        leaving(Policy.REFUSE).run()
    assert replicas(room) == "1"


def test_waiting_ends_with_the_last_campaign(room: Room, leaving: Any) -> None:
    campaign(room, "spring", BEGUN)
    ended = threading.Timer(2.0, campaign, (room, "spring", ENDED))
    ended.start()
    try:
        assert leaving(Policy.WAIT, 60.0).run()[0] == "What stays behind:"
    finally:
        ended.join()
    assert (replicas(room), finalizers(room, "spring")) == ("0", "")


def test_waiting_has_an_end_of_its_own(room: Room, leaving: Any) -> None:
    campaign(room, "spring", BEGUN)
    with pytest.raises(CliError, match=r"uninstall\.policy Wait: 1 campaign is not finished"):
        leaving(Policy.WAIT, 0.0).run()
    assert replicas(room) == "1"


def test_an_operator_that_is_gone_is_no_reason_to_stop(room: Room, leaving: Any) -> None:
    campaign(room, "winter", ENDED)
    room.kubectl("delete", "deployment", OPERATOR)
    assert leaving(Policy.REFUSE).run()[0] == "What stays behind:"
    assert finalizers(room, "winter") == ""
