"""The product on a node: the operator as a Pod with its own rights, workers as Pods, their images from the Dockerfiles.

In: nothing. Out, for a test that asks for `shop`: a namespace with a login of the store and a far end of its own. The
database and the far end are on this machine, where Pods reach them. The operator runs once per test process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.e2e.outside import Database, database, far_end
from tests.cluster.e2e.shop import Shop
from tests.cluster.manifests import as_list, namespace
from tests.cluster.reach import Cluster
from tools.cluster import product_images

ROOT = Path(__file__).resolve().parents[3]
SYSTEM = "sendonce-system"
# Slow enough that something can be done in the middle of a campaign.
LATENCY = 0.1


@pytest.fixture(scope="session")
def host(node: Cluster) -> str:
    if node.host is None:
        pytest.skip(f"not known where Pods of {node.description} reach this machine")
    return node.host


@pytest.fixture(scope="session")
def store(host: str) -> Iterator[Database]:
    with tempfile.TemporaryDirectory(prefix="sendonce-e2e-") as folder:
        # the server is another user, who must get in
        Path(folder).chmod(0o711)
        with database(Path(folder), host) as running:
            yield running


@pytest.fixture(scope="session")
def images(node: Cluster) -> dict[str, str]:
    """Return the names of the images, which the node has."""
    built = [product_images.build(program, os.environ) for program in product_images.PROGRAMS]
    for image in built:
        node.load(image.archive)
    return {image.program: image.name for image in built}


def manifest(images: dict[str, str]) -> str:
    text = (ROOT / "deploy" / "operator.yaml").read_text("utf-8")
    for program in ("operator", "worker"):
        assert f"sendonce-{program}:0.1.0\n" in text
        text = text.replace(f"sendonce-{program}:0.1.0\n", f"{images[program]}\n")
    return text


@pytest.fixture(scope="session")
def product(node: Cluster, store: Database, images: dict[str, str]) -> Cluster:
    """Return the cluster with CRDs and the operator, which is ready."""
    node.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    node.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    node.kubectl("apply", "-f-", stdin=manifest(images))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sendonce-store"}}
    node.kubectl("-n", SYSTEM, "apply", "-f-", stdin=json.dumps({**secret, "stringData": {"dsn": store.in_pods}}))
    node.kubectl("-n", SYSTEM, "rollout", "status", "deployment/sendonce-operator", "--timeout=120s")
    return node


def add_tenant(cluster: Cluster, name: str, store: Database) -> None:
    """As docs/tenancy.md has it: `sendonce tenant add … | kubectl apply -f -`."""
    command = [sys.executable, "-P", "-m", "sendonce_cli", "tenant", "add", name]
    given = ["--database", store.here, "--address", store.address]
    secret = subprocess.run([*command, *given], check=True, capture_output=True, text=True).stdout
    cluster.kubectl("apply", "-f-", stdin=secret)


@pytest.fixture
def shop(product: Cluster, store: Database, host: str, tmp_path: Path) -> Iterator[Shop]:
    name = f"shop-{uuid.uuid4().hex[:8]}"
    product.kubectl("apply", "-f-", stdin=as_list(namespace(name)))
    add_tenant(product, name, store)
    with far_end(tmp_path, host, "--latency", str(LATENCY)) as running:
        yield Shop(product, name, running, tmp_path)
        # the operator ends what a failed test left; nobody needs its name again
        product.kubectl("delete", "namespace", name, "--wait=false")
