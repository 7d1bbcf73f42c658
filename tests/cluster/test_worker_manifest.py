"""The Deployment of a campaign's workers, as a real API server takes it where Pods have to be restricted."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.cluster.reach import Cluster
from tests.operator_cases.situations import DEFAULTS, SUBJECT, spec

from sendonce_operator.decisions.deployment import deployment
from sendonce_operator.decisions.facts import ProviderFacts

NAMESPACE = "worker-manifest"
LABELS = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
PROVIDER = ProviderFacts("smtp", "NotificationProvider", secrets=("smtp-ca", "smtp-login"))
FULL = spec(
    workers={
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
        "podLabels": {"team": "shop"},
        "podAnnotations": {"note": "x"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "batch", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "imagePullSecrets": [{"name": "registry"}],
    }
)
MANIFESTS = {
    "plain": deployment(replace(SUBJECT, namespace=NAMESPACE), spec(), [PROVIDER], 2, DEFAULTS),
    "full": deployment(replace(SUBJECT, namespace=NAMESPACE), FULL, [PROVIDER], 0, DEFAULTS),
    "parquet": deployment(
        replace(SUBJECT, namespace=NAMESPACE),
        spec(recipients={"http": {"url": "https://example.com/r"}, "format": "Parquet"}),
        [PROVIDER],
        1,
        DEFAULTS,
    ),
    "any user": deployment(replace(SUBJECT, namespace=NAMESPACE), spec(), [], 1, replace(DEFAULTS, user=None)),
}


@pytest.fixture(scope="module")
def restricted(control_plane: Cluster) -> Iterator[Cluster]:
    """A namespace that takes restricted Pods only."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": LABELS}}
    control_plane.kubectl("apply", "--filename=-", stdin=json.dumps(space))
    if control_plane.has_controllers:
        control_plane.kubectl(
            "wait", "--for=create", "--timeout=60s", f"--namespace={NAMESPACE}", "serviceaccount/default"
        )
    yield control_plane
    control_plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def pod(manifest: dict[str, Any]) -> dict[str, Any]:
    """A Pod as the Deployment would make it."""
    template: dict[str, Any] = manifest["spec"]["template"]
    metadata = {"name": "worker", "namespace": NAMESPACE, **template["metadata"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@pytest.mark.parametrize("name", MANIFESTS)
def test_every_field_is_one_that_the_server_knows(restricted: Cluster, name: str) -> None:
    told = _dry_run(restricted, MANIFESTS[name], "--validate=strict")
    assert told["metadata"]["name"] == "sendonce-spring"
    assert told["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] is True


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_restricted_namespace_takes_its_pods(restricted: Cluster, name: str) -> None:
    if restricted.has_controllers:
        _dry_run(restricted, pod(MANIFESTS[name]))
    with pytest.raises(AssertionError, match="violates PodSecurity"):
        _dry_run(restricted, _loosened(pod(MANIFESTS[name])))


def _dry_run(cluster: Cluster, body: dict[str, Any], *options: str) -> dict[str, Any]:
    shown = cluster.kubectl(
        "create", "--dry-run=server", "--output=json", "--filename=-", *options, stdin=json.dumps(body)
    )
    found: dict[str, Any] = json.loads(shown)
    return found


def _loosened(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "spec": {**body["spec"], "securityContext": {}}}
