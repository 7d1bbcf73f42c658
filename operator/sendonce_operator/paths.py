"""Where objects are on the API server. Names in, paths out. Pure."""

from __future__ import annotations

from dataclasses import dataclass

GROUP, VERSION = "sendonce.dev", "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
CAMPAIGNS, PROVIDERS, CLUSTER_PROVIDERS, ACTIONS = (
    "notificationcampaigns",
    "notificationproviders",
    "clusternotificationproviders",
    "notificationactions",
)
PLURALS = {
    "NotificationCampaign": CAMPAIGNS,
    "NotificationProvider": PROVIDERS,
    "ClusterNotificationProvider": CLUSTER_PROVIDERS,
    "NotificationAction": ACTIONS,
}
# what is watched beside our own kinds
DEPLOYMENT, POD = "Deployment", "Pod"
CAMPAIGN_LABEL = "sendonce.dev/campaign"
LEDGER_ANNOTATION = "sendonce.dev/ledger"
HASH_ANNOTATION = "sendonce.dev/manifest-hash"
# of the annotations that kopf writes. It is for ever: another one would re-run handlers
PREFIX = "operator.sendonce.dev"
# kopf's, on an object whose handlers have all ended
HANDLED_ANNOTATION = f"{PREFIX}/last-handled-configuration"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """An object of ours: `namespace` is '' for one of the whole cluster."""

    kind: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """Of the object."""
        where = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"/apis/{API_VERSION}{where}/{PLURALS[self.kind]}/{self.name}"

    @property
    def status_path(self) -> str:
        """Of its status."""
        return f"{self.path}/status"


def listing(kind: str) -> str:
    """All objects of a kind, of all namespaces."""
    others = {DEPLOYMENT: "/apis/apps/v1/deployments", POD: "/api/v1/pods"}
    return others.get(kind) or f"/apis/{API_VERSION}/{PLURALS[kind]}"


def deployments(namespace: str, name: str = "") -> str:
    """A Deployment, or a namespace's collection of them."""
    return f"/apis/apps/v1/namespaces/{namespace}/deployments" + (f"/{name}" if name else "")


def config_map(namespace: str, name: str = "") -> str:
    """A ConfigMap, or a namespace's collection of them."""
    return f"/api/v1/namespaces/{namespace}/configmaps" + (f"/{name}" if name else "")


def secret(namespace: str, name: str) -> str:
    """A Secret. It is written, and never read."""
    return f"/api/v1/namespaces/{namespace}/secrets/{name}"


def namespace(name: str) -> str:
    """A namespace."""
    return f"/api/v1/namespaces/{name}"


def events(namespace_name: str) -> str:
    """A namespace's Events."""
    return f"/apis/events.k8s.io/v1/namespaces/{namespace_name}/events"
