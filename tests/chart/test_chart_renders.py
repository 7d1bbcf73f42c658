"""What the chart renders: valid for every Kubernetes, restricted, and all of it as the values say."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from tests.chart.kubernetes_schemas import VERSIONS, complaints
from tests.chart.matrix import ADDRESS, DIGEST, MATRIX
from tests.chart.rendering import NAMESPACE, by_kind, environment, helm, named, pods, rendered
from tools.chart.__main__ import CHART
from tools.cluster.places import ROOT

from sendonce_operator.settings import read_settings

OPERATOR = "sendonce-operator"
CLUSTER_WIDE = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}


@pytest.mark.parametrize("name", MATRIX)
def test_every_object_is_valid_for_kubernetes_1_30_to_1_37(name: str) -> None:
    objects = rendered(MATRIX[name])
    found = {version: [line for one in objects for line in complaints(one, version)] for version in VERSIONS}
    assert found == {version: [] for version in VERSIONS}


def test_the_schemas_do_find_what_is_wrong() -> None:
    (deployment,) = by_kind(rendered(), "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["imagePullPolicies"] = "Always"
    assert all("imagePullPolicies" in complaints(deployment, version)[0] for version in VERSIONS)


@pytest.mark.parametrize("name", MATRIX)
def test_helm_lint_has_nothing_to_say(name: str) -> None:
    done = helm("lint", "--strict", "--quiet", "--values", "-", str(CHART), stdin=json.dumps(MATRIX[name]))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def restricted(name: str, pod: dict[str, Any]) -> list[str]:
    """What the restricted Pod Security Standard has to say of a Pod."""
    spec, found = pod["spec"], []
    security = spec["securityContext"]
    if security.get("runAsNonRoot") is not True or security.get("runAsUser") == 0:
        found.append(f"{name}: may run as root")
    if security["seccompProfile"]["type"] != "RuntimeDefault":
        found.append(f"{name}: seccomp")
    if any(not {"secret", "emptyDir", "configMap", "projected"} & volume.keys() for volume in spec["volumes"]):
        found.append(f"{name}: volumes")
    for container in spec["containers"] + spec.get("initContainers", []):
        own = container["securityContext"]
        if (own["allowPrivilegeEscalation"], own["readOnlyRootFilesystem"]) != (False, True):
            found.append(f"{name}: privileges")
        if own["capabilities"] != {"drop": ["ALL"]}:
            found.append(f"{name}: capabilities")
        if not container["resources"]["requests"]:
            found.append(f"{name}: resources")
    return found


@pytest.mark.parametrize("name", MATRIX)
def test_every_pod_is_restricted(name: str) -> None:
    found = list(pods(rendered(MATRIX[name])))
    assert [one for pod, spec in found for one in restricted(pod, spec)] == []
    assert len(found) >= 2


@pytest.mark.parametrize("name", MATRIX)
def test_every_object_is_the_release_s_and_in_its_namespace(name: str) -> None:
    for one in rendered(MATRIX[name]):
        labels = one["metadata"]["labels"]
        assert (labels["app.kubernetes.io/part-of"], labels["app.kubernetes.io/instance"]) == ("sendonce", "sendonce")
        if one["kind"] in CLUSTER_WIDE:
            assert "namespace" not in one["metadata"]
        elif not one["metadata"]["name"].endswith("-workers"):
            assert one["metadata"]["namespace"] == NAMESPACE


# --- the operator ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MATRIX)
def test_the_operator_understands_its_settings(name: str) -> None:
    objects = rendered({**MATRIX[name], "fullnameOverride": "sendonce"})
    settings = read_settings(
        {name: value for name, value in environment(objects).items() if name != "SENDONCE_DSN_FILE"}
        | {"SENDONCE_DSN": "x"}
    )
    workers = MATRIX[name].get("workers", {})
    assert settings.defaults.pods.node_selector == workers.get("nodeSelector", {})
    assert settings.defaults.ca_config_map == (workers.get("caConfigMap", {}).get("name") or None)
    assert settings.defaults.mode.value == MATRIX[name].get("mode", "Normal")


def test_it_runs_once() -> None:
    (deployment,) = by_kind(rendered(), "Deployment")
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    (budget,) = by_kind(rendered(), "PodDisruptionBudget")
    assert budget["spec"]["maxUnavailable"] == 1
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]


def rules(objects: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = named(objects, "ClusterRole", name)["rules"]
    return found


def test_its_rights_are_those_of_the_manifest_and_no_other() -> None:
    manifest = list(yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text("utf-8")))
    assert rules(rendered(), OPERATOR) == rules(manifest, OPERATOR)
    assert not [one for one in rules(rendered(), OPERATOR) if "secrets" in one["resources"]]


def test_only_with_an_address_may_it_write_the_one_secret() -> None:
    added = [one for one in rules(rendered({"store": {"address": ADDRESS}}), OPERATOR) if "secrets" in one["resources"]]
    assert added == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["sendonce-store"], "verbs": ["patch"]},
    ]


def operators(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the operator's Deployment, whatever it is called."""
    component = "app.kubernetes.io/component"
    (found,) = [one for one in by_kind(objects, "Deployment") if one["metadata"]["labels"][component] == "operator"]
    return found


def test_its_selector_is_for_ever_the_same() -> None:
    selector = {
        "app.kubernetes.io/name": "sendonce",
        "app.kubernetes.io/instance": "sendonce",
        "app.kubernetes.io/component": "operator",
    }
    for values in MATRIX.values():
        deployment = operators(rendered(values))
        assert deployment["spec"]["selector"]["matchLabels"] == selector


# --- people's roles --------------------------------------------------------------------------------------------------
def aggregated(objects: list[dict[str, Any]], name: str) -> set[str]:
    labels = named(objects, "ClusterRole", name)["metadata"]["labels"]
    return {label.rpartition("-")[2] for label in labels if "aggregate-to" in label}


def test_who_may_edit_a_namespace_may_not_make_campaigns_unless_that_is_wished() -> None:
    assert aggregated(rendered(), "sendonce-viewer") == {"view", "edit", "admin"}
    assert aggregated(rendered(), "sendonce-editor") == set()
    assert aggregated(rendered(MATRIX["roles and Argo CD"]), "sendonce-editor") == {"edit", "admin"}


def test_who_got_what_is_seen_with_a_role_of_its_own() -> None:
    objects = rendered()
    assert rules(objects, "sendonce-recipients") == [
        {"apiGroups": ["sendonce.dev"], "resources": ["notificationcampaigns/recipients"], "verbs": ["get"]}
    ]
    assert aggregated(objects, "sendonce-recipients") == set()
    others = rules(objects, "sendonce-viewer") + rules(objects, "sendonce-editor")
    assert not [one for one in others if "notificationcampaigns/recipients" in one["resources"]]
    assert not [one for one in others if "*" in one["resources"] + one["verbs"]]


# --- images, CRDs, hooks ---------------------------------------------------------------------------------------------
def test_images_are_named_by_tag_or_digest() -> None:
    images = {pod["spec"]["containers"][0]["image"] for _, pod in pods(rendered())}
    assert images == {"sendonce-operator:0.2.0", "sendonce-cli:0.2.0"}
    objects = rendered(MATRIX["images by digest from a registry"])
    assert {pod["spec"]["containers"][0]["image"] for _, pod in pods(objects)} == {
        f"registry.example.com/platform/sendonce-{program}@{DIGEST}" for program in ("operator", "cli", "gateway")
    }
    assert environment(objects)["SENDONCE_WORKER_IMAGE"] == f"registry.example.com/platform/sendonce-worker@{DIGEST}"
    assert all(pod["spec"]["imagePullSecrets"] == [{"name": "registry"}] for _, pod in pods(objects))


def test_the_crds_are_those_of_the_folder_and_are_kept() -> None:
    found = {one["metadata"]["name"]: one for one in by_kind(rendered(), "CustomResourceDefinition")}
    wanted = [yaml.load(file.read_text("utf-8"), yaml.CSafeLoader) for file in (ROOT / "crds").iterdir()]
    assert {name: one["spec"] for name, one in found.items()} == {
        one["metadata"]["name"]: one["spec"] for one in wanted
    }
    assert all(one["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for one in found.values())
    assert by_kind(rendered({"crds": {"create": False}}), "CustomResourceDefinition") == []


def test_the_schema_is_migrated_before_or_after_a_database_of_the_chart_s_own() -> None:
    def hook(values: dict[str, Any]) -> str:
        job = named(rendered(values), "Job", "sendonce-migrations")
        found: str = job["metadata"]["annotations"]["helm.sh/hook"]
        return found

    assert hook({}) == "pre-install,pre-upgrade"
    assert hook(MATRIX["try-out"]) == "post-install,post-upgrade"


def test_the_lua_for_argo_cd_is_the_one_of_the_docs() -> None:
    (config,) = by_kind(rendered(MATRIX["roles and Argo CD"]), "ConfigMap")
    lua = (ROOT / "docs" / "argocd" / "health.lua").read_text("utf-8")
    assert len(config["data"]) == 4
    assert {text.strip() for text in config["data"].values()} == {lua.strip()}


def test_a_try_out_s_password_is_in_the_connection_string() -> None:
    secret = named(rendered(MATRIX["try-out"]), "Secret", "sendonce-store")["stringData"]
    password = secret["password"]
    assert len(password) == 32
    assert secret["dsn"] == f"postgresql://sendonce:{password}@sendonce-postgresql.{NAMESPACE}.svc:5432/sendonce"
    assert environment(rendered(MATRIX["try-out"]))["SENDONCE_STORE_ADDRESS"].startswith("postgresql://sendonce-postg")


def test_a_prometheus_that_goes_by_annotations_is_told_the_port() -> None:
    objects = rendered({"monitoring": {"scrapeAnnotations": True}})
    metadata = named(objects, "Deployment", OPERATOR)["spec"]["template"]["metadata"]
    assert metadata["annotations"]["prometheus.io/port"] == "9090"
    workers = json.loads(environment(objects)["SENDONCE_WORKER_DEFAULTS"])
    assert workers["podAnnotations"]["prometheus.io/port"] == "8080"
