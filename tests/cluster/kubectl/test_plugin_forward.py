"""The way to a console that is in the cluster alone: its Service is found, and a port-forward leads there."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from tests.cluster.kubectl.person import Person, write_kubeconfig
from tests.cluster.manifests import as_list, namespace, web_deployment, web_service
from tests.cluster.reach import Cluster

SPACE = f"console-{uuid.uuid4().hex[:8]}"
LABELS = {"app.kubernetes.io/part-of": "sendonce", "app.kubernetes.io/component": "console"}
RBAC = "rbac.authorization.k8s.io"
FORWARD = [
    {"apiGroups": [""], "resources": ["services"], "verbs": ["list", "get"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "get"]},
    {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["create"]},
]


@pytest.fixture(scope="module")
def served(node: Cluster, base: str) -> Iterator[Cluster]:
    """A cluster on which something answers `hello` where the console would be."""
    service = web_service("sendonce-console")
    service["metadata"]["labels"] = LABELS
    service["spec"]["selector"] = {"app": "web"}
    node.kubectl("apply", "-f-", stdin=as_list(namespace(SPACE)))
    node.kubectl("-n", SPACE, "apply", "-f-", stdin=as_list(web_deployment("web", base), service))
    node.kubectl("-n", SPACE, "rollout", "status", "deployment/web", "--timeout=90s")
    yield node
    node.kubectl("delete", "namespace", SPACE, "--wait=false")


def person(cluster: Cluster, name: str, rules: Sequence[object], folder: Path) -> Person:
    meta = {"name": name, "namespace": SPACE}
    subject = {"kind": "ServiceAccount", **meta}
    objects = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": meta, "rules": rules},
        {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": meta, "subjects": [subject],
         "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name}},
    ]  # fmt: skip
    cluster.kubectl("apply", "-f-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    token = cluster.kubectl("-n", SPACE, "create", "token", name).strip()
    known = yaml.safe_load(cluster.kubeconfig.read_text("utf-8"))["clusters"][0]["cluster"]
    return Person(write_kubeconfig(folder / name, {"token": token}, known))


def test_a_port_forward_leads_to_the_consoles_service(served: Cluster, tmp_path: Path) -> None:
    mia = person(served, "mia", FORWARD, tmp_path)
    ran = mia.run("deadletters", "spring", "--console-namespace", SPACE)
    assert (ran.code, ran.out) == (3, "")
    assert "what answers at http://127.0.0.1:" in ran.err
    assert "is not Sendonce's console" in ran.err


def test_without_the_right_to_look_for_it_or_to_go_there_that_is_told(served: Cluster, tmp_path: Path) -> None:
    looking = person(served, "looking", FORWARD[:2], tmp_path)
    ran = looking.run("deadletters", "spring", "--console-namespace", SPACE)
    assert (ran.code, "no way to the console: you may not create pods/portforward" in ran.err) == (5, True), ran.err
    ran = looking.run("deadletters", "spring")
    assert (ran.code, "--console-namespace says where to look" in ran.err) == (5, True), ran.err
    ran = looking.run("deadletters", "spring", "--console-namespace", "default")
    assert (ran.code, "--console-url" in ran.err) == (5, True), ran.err


def test_a_cluster_without_a_console_is_told_how_it_gets_one(served: Cluster, tmp_path: Path) -> None:
    known = yaml.safe_load(served.kubeconfig.read_text("utf-8"))
    admin = write_kubeconfig(tmp_path / "admin", known["users"][0]["user"], known["clusters"][0]["cluster"])
    ran = Person(admin).run("deadletters", "spring", "--console-namespace", "default", "--token", "t")
    assert (ran.code, "--set console.enabled=true" in ran.err) == (4, True), ran.err
