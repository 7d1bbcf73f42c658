"""A namespace on a real API server, a real PostgreSQL and a far end, for each test of the operator.

In: nothing. Out, for a test that asks for `stage`: documents go in with `apply`, an operator runs after `operate`, and
workers run as processes for every Deployment that it makes.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from tests.cluster.operator.cast import Pods
from tests.cluster.operator.stage import Stage
from tests.cluster.reach import Cluster
from tests.integration.conftest import admin_dsn, dsn, template

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_cli.simulate import Simulator, SimulatorSettings, serve
from sendonce_operator.cluster import open_cluster
from sendonce_store.connection import connect
from sendonce_store.migrate import migrate

__all__ = ["admin_dsn", "dsn", "template"]
ROOT = Path(__file__).resolve().parents[3]


def with_ours(cluster: Cluster) -> Cluster:
    """Give a cluster the repository's CRDs."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    return cluster


@pytest.fixture(scope="session")
def with_crds(control_plane: Cluster) -> Cluster:
    """Return the control plane with the repository's CRDs."""
    return with_ours(control_plane)


@pytest_asyncio.fixture
async def stage(with_crds: Cluster, dsn: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """Yield a namespace with all that belongs to it; what a test leaves there is not waited for."""
    namespace = f"stage-{uuid.uuid4().hex[:8]}"
    async with (
        serve(SimulatorSettings(ledger=tmp_path / "far-end.ndjson")) as simulator,
        set_up(with_crds, namespace, dsn, tmp_path, simulator) as stage,
    ):
        yield stage


@asynccontextmanager
async def set_up(
    cluster: Cluster, namespace: str, dsn: str, folder: Path, simulator: Simulator
) -> AsyncIterator[Stage]:
    """Yield a namespace of a cluster with what belongs to it."""
    cluster.kubectl("create", "namespace", namespace)
    files = folder / "files"
    files.mkdir()
    async with open_cluster(cluster.kubeconfig) as api:
        pods = Pods(api, namespace, dsn, files, folder / "workers.log")
        stage = Stage(cluster, api, namespace, dsn, folder, simulator, pods)
        try:
            yield stage
        finally:
            await stage.aclose()
        await clear(stage)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _own_server() -> AsyncIterator[EmbeddedPostgres]:
    # without TCP: its address is the same after every start. Another run clears away folders `sendonce-test-…` whose
    # server is down, as this one is at times.
    embedded = EmbeddedPostgres(Path(tempfile.gettempdir()) / f"sendonce-own-{uuid.uuid4().hex}")
    await embedded.start()
    await migrate(embedded.dsn())
    yield embedded
    await embedded.stop(remove=True)


@pytest_asyncio.fixture
async def server(_own_server: EmbeddedPostgres) -> AsyncIterator[EmbeddedPostgres]:
    """Yield a server that a test may stop and start, with an empty store in its default database."""
    await _own_server.start()
    async with await connect(_own_server.dsn()) as conn:
        await conn.execute("TRUNCATE sendonce.campaigns, sendonce.providers CASCADE")
    yield _own_server
    await _own_server.start()


async def clear(stage: Stage) -> None:
    """Take away the campaigns, which the next test's operator would start, and what keeps the namespace from going."""
    campaigns = f"/apis/sendonce.dev/v1alpha1/namespaces/{stage.namespace}/notificationcampaigns"
    for one in (await stage.api.get(campaigns))["items"]:
        # finalizers that no operator answers any more
        await stage.api.patch(f"{campaigns}/{one['metadata']['name']}", {"metadata": {"finalizers": None}})
    await stage.kubectl("delete", "notificationcampaigns", "--all", "--ignore-not-found")
    await stage.kubectl("delete", "namespace", stage.namespace, "--wait=false", "--ignore-not-found")
