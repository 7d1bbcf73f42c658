"""The product on a node: the Helm chart, the operator and workers as Pods, their images from the Dockerfiles.

In: nothing. Out, for a test that asks for `shop`: a namespace with a login of the store and a far end of its own. The
database and the far end are on this machine, where Pods reach them. The chart is installed once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.e2e import trust
from tests.cluster.e2e.outside import Database, database
from tests.cluster.e2e.premises import Premises
from tests.cluster.e2e.release import Release, images_as_values, merged
from tests.cluster.e2e.shop import Shop, config_map
from tests.cluster.e2e.trust import CONFIG_MAP, Trust
from tests.cluster.reach import Cluster
from tools.cluster import product_images


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


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    """Return the authorities that workers trust."""
    return trust.make(tmp_path_factory.mktemp("trust"))


@pytest.fixture(scope="session")
def release(node: Cluster, store: Database, images: dict[str, str], trusted: Trust) -> Release:
    """Return the Helm release, which is not there yet."""
    values = merged(images_as_values(images), {"workers": {"caConfigMap": {"name": CONFIG_MAP}}})
    return Release(node, values, store.in_pods, config_map(CONFIG_MAP, **{"ca.crt": trusted.authority}))


@pytest.fixture(scope="module")
def product(node: Cluster, release: Release) -> Cluster:
    """Return the cluster with the chart installed as it comes."""
    release.ensure()
    return node


@pytest.fixture(scope="module")
def premises(product: Cluster, store: Database, host: str, trusted: Trust) -> Premises:
    return Premises(product, store, host, trusted)


@pytest.fixture
def shop(premises: Premises, tmp_path: Path) -> Iterator[Shop]:
    with premises.shop(tmp_path) as opened:
        yield opened
