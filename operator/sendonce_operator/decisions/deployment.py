"""The Deployment of a campaign's workers: facts in, the whole manifest out, the same for the same facts.

Pods fit the restricted Pod Security Standard. ConfigMaps and Secrets are mounted as files, `optional`, so that the
worker can say which one is missing where a Pod would hang without a word; their changes are seen without a restart.
There is no preStop hook: it would use up the grace period, in which what is in flight is ended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from sendonce_operator.decisions.facts import Defaults, ProviderFacts, Subject
from sendonce_operator.decisions.mounts import FILES, authorities_file, store_file, volume_mounts, volumes
from sendonce_operator.decisions.worker_defaults import WorkerDefaults
from sendonce_store.spec import API_VERSION, CampaignSpec, CampaignStatus

HASH_ANNOTATION = "sendonce.dev/manifest-hash"
CAMPAIGN_LABEL = "sendonce.dev/campaign"
CONTAINER = "worker"
PORT = 8080
# beyond a hand-off's time-out: what a commit, a connection and a busy loop may take (the worker counts on the same)
MARGIN_SECONDS = 2
# results are committed, batches given back and a last word said
RESERVE_SECONDS = 5
# two seconds are usual; on a node where many start at once it takes longer, and one that is killed for it starts anew
START_SECONDS = 180
RESOURCES: Mapping[str, Mapping[str, str]] = {
    "requests": {"cpu": "100m", "memory": "128Mi"},
    "limits": {"memory": "512Mi"},
}


def deployment_name(campaign: str) -> str:
    """The name of a campaign's Deployment; campaign names are short enough for it."""
    return f"sendonce-{campaign}"


def deployment(
    subject: Subject[CampaignStatus],
    spec: CampaignSpec,
    providers: Sequence[ProviderFacts],
    replicas: int,
    defaults: Defaults,
) -> dict[str, Any]:
    """The manifest. The hash covers all but the replicas, which change far more often and are compared apart."""
    labels = _labels(subject.name)
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": deployment_name(subject.name),
            "namespace": subject.namespace,
            "labels": labels,
            "ownerReferences": [_owner(subject)],
        },
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 1,
            "selector": {"matchLabels": _selector(subject.name)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}},
            "template": {
                "metadata": _pod_metadata(spec, labels, defaults),
                "spec": _pod(subject, spec, providers, defaults),
            },
        },
    }
    manifest["metadata"]["annotations"] = {HASH_ANNOTATION: manifest_hash(manifest)}  # type: ignore[index]
    return manifest


def manifest_hash(manifest: Mapping[str, Any]) -> str:
    """A hash of what the manifest says, but for the number of replicas and the hash itself."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "annotations"}
    rest = {name: value for name, value in manifest["spec"].items() if name != "replicas"}
    text = json.dumps({"metadata": metadata, "spec": rest}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def is_current(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a live Deployment was written from the wanted manifest. Replicas are compared apart."""
    return _hash_of(live) == _hash_of(wanted)


def _hash_of(manifest: Mapping[str, Any]) -> str | None:
    found: str | None = (manifest["metadata"].get("annotations") or {}).get(HASH_ANNOTATION)
    return found


def grace_seconds(spec: CampaignSpec, providers: Sequence[ProviderFacts]) -> int:
    """Seconds from SIGTERM to SIGKILL: whoever is handing off can end it, and write down how it ended."""
    longest = max((provider.timeout_seconds for provider in providers), default=0)
    return max(spec.workers.termination_grace_period_seconds, ceil(longest + MARGIN_SECONDS + RESERVE_SECONDS))


def _selector(campaign: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": "sendonce-worker", CAMPAIGN_LABEL: campaign}


def _labels(campaign: str) -> dict[str, str]:
    return _selector(campaign) | {
        "app.kubernetes.io/instance": campaign,
        "app.kubernetes.io/component": "worker",
        "app.kubernetes.io/part-of": "sendonce",
        "app.kubernetes.io/managed-by": "sendonce-operator",
    }


def _owner(subject: Subject[CampaignStatus]) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "NotificationCampaign",
        "name": subject.name,
        "uid": subject.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _pod_metadata(spec: CampaignSpec, labels: Mapping[str, str], defaults: Defaults) -> dict[str, Any]:
    """The spec's labels and annotations over the defaults; ours win, because the Deployment finds its Pods by them."""
    given = {**defaults.pods.pod_annotations, **spec.workers.pod_annotations}
    annotations = {"kubectl.kubernetes.io/default-container": CONTAINER, **given}
    return {"labels": {**defaults.pods.pod_labels, **spec.workers.pod_labels, **labels}, "annotations": annotations}


def _pod(
    subject: Subject[CampaignStatus], spec: CampaignSpec, providers: Sequence[ProviderFacts], defaults: Defaults
) -> dict[str, Any]:
    grace = grace_seconds(spec, providers)
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace,
        "securityContext": _pod_security(defaults),
        "topologySpreadConstraints": list(defaults.pods.topology_spread_constraints) or [_spread(subject.name)],
        "containers": [_container(subject, spec, providers, defaults)],
        "volumes": volumes(spec, providers, defaults),
    }
    return (
        pod
        | _placement(spec, defaults.pods)
        | ({"serviceAccountName": defaults.service_account} if defaults.service_account else {})
    )


def _pod_security(defaults: Defaults) -> dict[str, Any]:
    user = {} if defaults.user is None else {"runAsUser": defaults.user, "runAsGroup": defaults.user}
    return {"runAsNonRoot": True, **user, "seccompProfile": {"type": "RuntimeDefault"}}


def _spread(campaign: str) -> dict[str, Any]:
    """A node that is lost takes few workers with it, where there are several nodes."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": _selector(campaign)},
    }


def _placement(spec: CampaignSpec, defaults: WorkerDefaults) -> dict[str, Any]:
    """What spec or defaults say of nodes and images; absent where they say nothing: the cluster's defaults count."""
    workers = spec.workers
    secrets = dict.fromkeys([*workers.image_pull_secrets, *defaults.image_pull_secrets])
    chosen = {
        "nodeSelector": dict(workers.node_selector or defaults.node_selector),
        "tolerations": [toleration.to_wire() for toleration in workers.tolerations or defaults.tolerations],
        "affinity": dict(defaults.affinity),
        "priorityClassName": workers.priority_class_name or defaults.priority_class_name,
        "imagePullSecrets": [secret.to_wire() for secret in secrets],
    }
    return {name: value for name, value in chosen.items() if value}


def _container(
    subject: Subject[CampaignStatus], spec: CampaignSpec, providers: Sequence[ProviderFacts], defaults: Defaults
) -> dict[str, Any]:
    return {
        "name": CONTAINER,
        "image": defaults.image,
        "imagePullPolicy": defaults.pull_policy,
        "env": _environment(subject, spec, providers, defaults),
        "ports": [{"name": "health", "containerPort": PORT}],
        "startupProbe": _probe("/healthz", START_SECONDS // 2, timeout=5, period=2),
        "livenessProbe": _probe("/healthz", 3, timeout=5, period=10),
        "readinessProbe": _probe("/readyz", 2, timeout=3, period=5),
        "resources": _resources(spec, defaults),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": volume_mounts(spec, providers, defaults),
    }


def _environment(
    subject: Subject[CampaignStatus], spec: CampaignSpec, providers: Sequence[ProviderFacts], defaults: Defaults
) -> list[dict[str, str]]:
    """The worker's settings; its own win over further variables of the operator's."""
    own = {
        "SENDONCE_DSN_FILE": store_file(defaults),
        "SENDONCE_FILES": FILES,
        "SENDONCE_GRACE_SECONDS": str(grace_seconds(spec, providers)),
        "SENDONCE_HEALTH_PORT": str(PORT),
        "SENDONCE_LOG_LEVEL": defaults.log_level,
        "SENDONCE_NAMESPACE": subject.namespace,
        "SENDONCE_SEND_KEY": spec.send_key or subject.name,
    }
    # OpenSSL's own variable: what speaks TLS in the worker, to providers, sources and databases, heeds it
    trusted = {"SSL_CERT_FILE": file} if (file := authorities_file(defaults)) else {}
    links = {"SENDONCE_GATEWAY_URL": defaults.gateway_url} if defaults.gateway_url else {}
    given = {**(defaults.environment or {}), **trusted, **links, **own}
    return [{"name": name, "value": value} for name, value in sorted(given.items())]


def _probe(path: str, failures: int, *, timeout: int, period: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "health"},
        "periodSeconds": period,
        "timeoutSeconds": timeout,
        "failureThreshold": failures,
    }


def _resources(spec: CampaignSpec, defaults: Defaults) -> dict[str, Any]:
    """The spec's, whole; a mixture of two would be neither's wish."""
    given = spec.workers.resources
    chosen: Mapping[str, Mapping[str, Any]] = given.to_wire() if given else defaults.resources or RESOURCES  # type: ignore[assignment]
    return {kind: dict(amounts) for kind, amounts in sorted(chosen.items()) if amounts}
