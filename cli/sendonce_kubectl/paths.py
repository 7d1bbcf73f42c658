"""Where things are in the API of Kubernetes: names in, paths out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

__all__ = ["ACTION", "CAMPAIGN", "MANAGER", "one", "several", "watching"]

GROUP = "/apis/sendonce.dev/v1alpha1"
CAMPAIGN, ACTION = "notificationcampaigns", "notificationactions"
# who wrote a field, as `managedFields` tell it
MANAGER = "kubectl-campaign"


def several(plural: str, namespace: str, query: Mapping[str, str] | None = None) -> str:
    """All objects of a kind; of all namespaces where none is given."""
    where = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{GROUP}{where}/{plural}" + (f"?{urlencode(query)}" if query else "")


def one(plural: str, namespace: str, name: str) -> str:
    """One object."""
    return f"{several(plural, namespace)}/{quote(name, safe='')}"


def watching(plural: str, namespace: str, version: str, *, name: str = "", selector: str = "") -> str:
    """What becomes of objects after this resourceVersion: lines of `{type, object}`."""
    query = {"watch": "1", "resourceVersion": version}
    if name:
        query["fieldSelector"] = f"metadata.name={name}"
    if selector:
        query["labelSelector"] = selector
    return several(plural, namespace, query)
