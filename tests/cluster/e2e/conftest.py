"""The product on a node: the operator as a Pod with its own rights, workers as Pods, their images from the Dockerfiles.

In: nothing. Out, for a test that asks for `shop`: a namespace with a login of the store and a far end of its own. The
database and the far end are on this machine, where Pods reach them. The operator runs once per test process.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.e2e import trust
from tests.cluster.e2e.outside import Database, database
from tests.cluster.e2e.premises import SYSTEM, Premises
from tests.cluster.e2e.shop import Shop
from tests.cluster.e2e.trust import CONFIG_MAP
from tests.cluster.reach import Cluster
from tools.cluster import product_images

ROOT = Path(__file__).resolve().parents[3]
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
    first = "        - name: SENDONCE_WORKER_IMAGE\n"
    assert first in text
    return text.replace(first, f"        - name: SENDONCE_WORKER_CA_CONFIGMAP\n          value: {CONFIG_MAP}\n{first}")


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


@pytest.fixture(scope="session")
def premises(product: Cluster, store: Database, host: str, tmp_path_factory: pytest.TempPathFactory) -> Premises:
    return Premises(product, store, host, trust.make(tmp_path_factory.mktemp("trust")))


@pytest.fixture
def shop(premises: Premises, tmp_path: Path) -> Iterator[Shop]:
    with premises.shop(tmp_path, "--latency", str(LATENCY)) as opened:
        yield opened
