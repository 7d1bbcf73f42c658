"""An API server with the CRDs of the repository."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from tests.cluster.crds.server import NAMESPACE, Refused, Server
from tests.cluster.reach import Cluster
from tools.cluster.waiting import until

from sendonce_store.spec.crd import RESOURCES, definition

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="session")
def server(control_plane: Cluster) -> Iterator[Server]:
    """The control plane's API server; it knows the four kinds as they are now."""
    server = Server(control_plane.kubeconfig)
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, "/api/v1/namespaces")
    for resource in RESOURCES:
        server.apply(definition(resource), CRDS)
    for resource in RESOURCES:
        until(partial(is_served, server, resource.plural), f"{resource.plural} are served", seconds=30)
    yield server
    server.close()


def is_served(server: Server, plural: str) -> bool:
    try:
        server.get(f"/apis/sendonce.dev/v1alpha1/{plural}")
    except Refused:
        return False
    return True
