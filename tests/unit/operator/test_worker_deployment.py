"""The Deployment of a campaign's workers."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.operator_cases.situations import DEFAULTS, SUBJECT, spec

from sendonce_operator.decisions.deployment import deployment, deployment_name, grace_seconds, is_current
from sendonce_operator.decisions.facts import ProviderFacts, provider_facts
from sendonce_store.spec import CampaignSpec, ProviderSpec
from sendonce_worker.sending.plan import patience
from sendonce_worker.settings import read_settings

SMTP = ProviderFacts("smtp", "NotificationProvider", secrets=("smtp-ca", "smtp-login"))
FULL = spec(
    sendKey="spring-2026",
    workers={
        "terminationGracePeriodSeconds": 5,
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
        "podLabels": {"team": "shop", "sendonce.dev/campaign": "mine"},
        "podAnnotations": {"note": "x"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "batch", "operator": "Exists", "effect": "NoSchedule"}],
        "priorityClassName": "low",
        "imagePullSecrets": [{"name": "registry"}],
    },
)


def manifest(asked: CampaignSpec | None = None, *providers: ProviderFacts, replicas: int = 2) -> dict[str, Any]:
    return deployment(SUBJECT, asked or spec(), providers or (SMTP,), replicas, DEFAULTS)


def pod(asked: CampaignSpec | None = None, *providers: ProviderFacts) -> dict[str, Any]:
    found: dict[str, Any] = manifest(asked, *providers)["spec"]["template"]["spec"]
    return found


def files(found: dict[str, Any]) -> dict[str, Any]:
    """Path → source, by what is mounted."""
    sources = {volume["name"]: {k: v for k, v in volume.items() if k != "name"} for volume in found["volumes"]}
    mounts = found["containers"][0]["volumeMounts"]
    assert all(mount["readOnly"] for mount in mounts)
    return {mount["mountPath"]: sources[mount["name"]] for mount in mounts}


def test_it_belongs_to_its_campaign() -> None:
    found = manifest()
    assert (found["metadata"]["name"], found["metadata"]["namespace"]) == ("sendonce-spring", "shop")
    assert found["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "sendonce.dev/v1alpha1",
            "kind": "NotificationCampaign",
            "name": "spring",
            "uid": "6f1c",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert found["spec"]["replicas"] == 2
    selector = found["spec"]["selector"]["matchLabels"]
    assert selector.items() <= found["spec"]["template"]["metadata"]["labels"].items()
    assert len(deployment_name("x" * 52)) <= 63


def test_the_pod_fits_the_restricted_standard() -> None:
    found = pod()
    assert found["securityContext"]["runAsNonRoot"] is True
    assert found["securityContext"]["runAsUser"] > 0
    assert found["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert found["automountServiceAccountToken"] is False
    assert found["enableServiceLinks"] is False
    container = found["containers"][0]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "lifecycle" not in container
    assert {probe: container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")} == {
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }


def test_the_user_may_be_left_to_the_cluster() -> None:
    found = deployment(SUBJECT, spec(), (), 1, replace(DEFAULTS, user=None, service_account="worker"))
    template = found["spec"]["template"]["spec"]
    assert template["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert template["serviceAccountName"] == "worker"
    assert "serviceAccountName" not in pod()


def test_what_the_spec_says_of_pods_is_done() -> None:
    found = manifest(FULL)["spec"]["template"]
    assert found["metadata"]["labels"]["team"] == "shop"
    assert found["metadata"]["labels"]["sendonce.dev/campaign"] == "spring"
    assert found["metadata"]["annotations"]["note"] == "x"
    assert found["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert found["spec"]["tolerations"] == [{"key": "batch", "operator": "Exists", "effect": "NoSchedule"}]
    assert found["spec"]["priorityClassName"] == "low"
    assert found["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert found["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1", "memory": "1Gi"}}
    assert not {"nodeSelector", "tolerations", "priorityClassName", "imagePullSecrets"} & pod().keys()
    assert pod()["containers"][0]["resources"].keys() == {"requests", "limits"}


def test_the_worker_reads_its_settings_from_the_environment() -> None:
    variables = {variable["name"]: variable["value"] for variable in pod(FULL)["containers"][0]["env"]}
    assert variables.pop("SENDONCE_DSN_FILE") == "/etc/sendonce-store/dsn"
    settings = read_settings(variables | {"SENDONCE_DSN": "x"})
    assert (settings.namespace, settings.send_key, settings.grace) == ("shop", "spring-2026", 37)
    assert (str(settings.files), settings.health_port, settings.exit_when_done) == ("/etc/sendonce", 8080, False)
    assert {"name": "SENDONCE_SEND_KEY", "value": "spring"} in pod()["containers"][0]["env"]


def test_further_variables_do_not_replace_the_workers_own() -> None:
    extra = {"HTTPS_PROXY": "http://proxy:3128", "SENDONCE_NAMESPACE": "other"}
    found = deployment(SUBJECT, spec(), (), 1, replace(DEFAULTS, environment=extra))
    variables = {v["name"]: v["value"] for v in found["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert (variables["HTTPS_PROXY"], variables["SENDONCE_NAMESPACE"]) == ("http://proxy:3128", "shop")


@pytest.mark.parametrize(
    ("asked", "timeouts", "seconds"),
    [(60, [30], 60), (5, [30], 37), (60, [30, 600], 607), (3600, [600], 3600), (5, [], 7)],
)
def test_the_grace_period_lets_a_hand_off_end(asked: int, timeouts: list[int], seconds: int) -> None:
    workers = spec(workers={"terminationGracePeriodSeconds": asked})
    providers = [replace(SMTP, timeout_seconds=timeout) for timeout in timeouts]
    found = deployment(SUBJECT, workers, providers, 1, DEFAULTS)["spec"]["template"]["spec"]
    assert found["terminationGracePeriodSeconds"] == grace_seconds(workers, providers) == seconds
    assert {"name": "SENDONCE_GRACE_SECONDS", "value": str(seconds)} in found["containers"][0]["env"]
    assert all(seconds > patience(timeout) + 1 for timeout in timeouts)


def test_secrets_of_providers_and_sources_are_mounted_where_the_worker_looks() -> None:
    assert files(pod()) == {
        "/etc/sendonce-store": {"secret": {"secretName": "sendonce-store", "optional": True}},
        "/etc/sendonce/configmaps/readers": {"configMap": {"name": "readers", "optional": True}},
        "/etc/sendonce/secrets/smtp-ca": {"secret": {"secretName": "smtp-ca", "optional": True}},
        "/etc/sendonce/secrets/smtp-login": {"secret": {"secretName": "smtp-login", "optional": True}},
    }


@pytest.mark.parametrize(
    ("recipients", "secrets"),
    [
        ({"secretKeyRef": {"name": "people", "key": "r.csv"}, "format": "CSV"}, {"people"}),
        ({"postgres": {"dsnSecretKeyRef": {"name": "crm", "key": "dsn"}, "query": "select 1"}}, {"crm"}),
        ({"mysql": {"dsnSecretKeyRef": {"name": "shop", "key": "dsn"}, "query": "select 1"}}, {"shop"}),
        (
            {
                "http": {
                    "urlSecretKeyRef": {"name": "url", "key": "url"},
                    "headersSecretRef": {"name": "headers"},
                },
                "format": "NDJSON",
            },
            {"url", "headers"},
        ),
        (
            {"s3": {"bucket": "lists", "key": "r.csv", "credentialsSecretRef": {"name": "keys"}}, "format": "CSV"},
            {"keys"},
        ),
        ({"http": {"url": "https://example.com/r.csv"}, "format": "CSV"}, set()),
        ({"inline": [{"email": "a@example.com"}]}, set()),
    ],
)
def test_every_source_of_recipients(recipients: dict[str, Any], secrets: set[str]) -> None:
    found = files(pod(spec(recipients=recipients)))
    mounted = {path.rpartition("/")[2] for path in found if path.startswith("/etc/sendonce/secrets/")}
    assert mounted == secrets | {"smtp-ca", "smtp-login"}
    assert not any(path.startswith("/etc/sendonce/configmaps/") for path in found)


def test_mounts_have_a_fixed_order() -> None:
    names = tuple("zyxwvutsrqponm")
    paths = [path for path in files(pod(None, replace(SMTP, secrets=names))) if "/secrets/" in path]
    assert paths == [f"/etc/sendonce/secrets/{name}" for name in sorted(names)]


def test_one_object_that_is_named_twice_is_mounted_once() -> None:
    shared = spec(recipients={"secretKeyRef": {"name": "smtp-login", "key": "r.csv"}, "format": "CSV"})
    names = [volume["name"] for volume in pod(shared, SMTP, replace(SMTP, name="other"))["volumes"]]
    assert len(names) == len(set(names)) == 3


def test_a_parquet_file_has_a_folder_to_be_fetched_into() -> None:
    source = {"http": {"url": "https://example.com/r"}}
    found = pod(spec(recipients={**source, "format": "Parquet"}))
    (volume,) = [one for one in found["volumes"] if "emptyDir" in one]
    assert volume == {"name": "scratch", "emptyDir": {"sizeLimit": "2112Mi"}}
    assert {"name": "scratch", "mountPath": "/tmp"} in found["containers"][0]["volumeMounts"]  # noqa: S108
    assert not [one for one in pod(spec(recipients={**source, "format": "CSV"}))["volumes"] if "emptyDir" in one]


def test_authorities_of_ones_own_are_mounted_where_openssl_is_told_to_look() -> None:
    own = replace(DEFAULTS, ca_config_map="trusted", ca_key="bundle.pem")
    found = deployment(SUBJECT, spec(), [SMTP], 1, own)["spec"]["template"]["spec"]
    assert files(found)["/etc/sendonce-ca"] == {"configMap": {"name": "trusted", "optional": True}}
    variables = {one["name"]: one["value"] for one in found["containers"][0]["env"]}
    assert variables["SSL_CERT_FILE"] == "/etc/sendonce-ca/bundle.pem"
    assert "/etc/sendonce-ca" not in files(pod())
    assert "SSL_CERT_FILE" not in {one["name"] for one in pod()["containers"][0]["env"]}


def test_workers_are_told_where_links_in_messages_lead() -> None:
    there = replace(DEFAULTS, gateway_url="https://notify.example.com")
    found = deployment(SUBJECT, spec(), [SMTP], 1, there)["spec"]["template"]["spec"]
    variables = {one["name"]: one["value"] for one in found["containers"][0]["env"]}
    given = {name: value for name, value in variables.items() if name != "SENDONCE_DSN_FILE"} | {"SENDONCE_DSN": "x"}
    assert read_settings(given).gateway_url == "https://notify.example.com"
    assert "SENDONCE_GATEWAY_URL" not in {one["name"] for one in pod()["containers"][0]["env"]}


def test_a_worker_that_starts_slowly_is_not_killed_for_it() -> None:
    (container,) = pod()["containers"]
    start, alive = container["startupProbe"], container["livenessProbe"]
    assert start["httpGet"] == alive["httpGet"]
    assert start["periodSeconds"] * start["failureThreshold"] >= 180
    assert start["periodSeconds"] <= 2, "or readiness is asked late"


def test_volume_names_fit_however_long_the_objects_names_are() -> None:
    long = replace(SMTP, secrets=("a." * 126 + "a", "a." * 126 + "b"))
    names = [volume["name"] for volume in pod(None, long)["volumes"]]
    assert len(set(names)) == 4
    assert all(len(name) <= 63 for name in names)


def test_the_secrets_that_a_provider_names() -> None:
    wire = {
        "type": "HTTP",
        "http": {"url": "https://api.example.com", "tls": {"caSecretRef": {"name": "ca"}}},
        "credentialsSecretRef": {"name": "token"},
        "limits": [{"messages": 80, "periodSeconds": 1}],
    }
    found = provider_facts("NotificationProvider", "api", ProviderSpec.from_wire(wire))
    assert (found.secrets, found.per_second) == (("ca", "token"), 80)
    smtp = {"type": "SMTP", "smtp": {"host": "mail", "caSecretRef": {"name": "ca"}}}
    assert provider_facts("NotificationProvider", "m", ProviderSpec.from_wire(smtp)).secrets == ("ca",)


def test_a_named_provider_brings_its_published_pace_and_its_key_window() -> None:
    line = {"type": "Line", "credentialsSecretRef": {"name": "line"}}
    found = provider_facts("NotificationProvider", "line", ProviderSpec.from_wire(line))
    assert (found.per_second, found.key_window, found.secrets) == (2000, 82_800, ("line",))
    slack = {"type": "Slack", "credentialsSecretRef": {"name": "slack"}}
    assert provider_facts("NotificationProvider", "slack", ProviderSpec.from_wire(slack)).per_second is None


def test_the_same_facts_give_the_same_manifest() -> None:
    other = replace(SMTP, name="other", secrets=("z", "a"))
    first, second = manifest(FULL, SMTP, other), manifest(FULL, other, SMTP)
    assert json.dumps(first) == json.dumps(second)


def test_the_hash_tells_when_to_write() -> None:
    first = manifest()
    assert is_current(manifest(replicas=9), first)
    assert not is_current(manifest(FULL), first)
    assert not is_current(manifest(None, replace(SMTP, timeout_seconds=90)), first)
    assert not is_current({"metadata": {}}, first)


def test_attached_files_are_mounted_and_templates_are_not() -> None:
    files_of = [
        {"name": "a", "configMapKeyRef": {"name": "pictures", "key": "a"}},
        {"name": "b", "secretKeyRef": {"name": "terms", "key": "b"}, "sha256": "0" * 64},
    ]
    template = {"subject": "s", "configMapRef": {"name": "letter"}, "attachments": files_of}
    asked = spec(messages=[{"channel": "Email", "providerRef": {"name": "smtp"}, "template": template}])
    found = files(pod(asked))
    assert found["/etc/sendonce/configmaps/pictures"] == {"configMap": {"name": "pictures", "optional": True}}
    assert found["/etc/sendonce/secrets/terms"] == {"secret": {"secretName": "terms", "optional": True}}
    assert "/etc/sendonce/configmaps/letter" not in found
