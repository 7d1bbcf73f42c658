"""One scene for all tests of a module: see `scene`. Its Prometheus, API server and workers are real.

Prometheus comes first: where it is not installed, nothing else is started.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from tests.cluster.monitoring.programs import program
from tests.cluster.monitoring.prometheus import Prometheus
from tests.cluster.monitoring.scene import Scene, WatchedPods, begin, far_ends, roles, visited_console
from tests.cluster.monitoring.visitors import visited
from tests.cluster.operator.conftest import clear, with_crds
from tests.cluster.operator.stage import Stage
from tests.cluster.reach import Cluster

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_operator.cluster import open_cluster
from sendonce_store.migrate import migrate

__all__ = ["with_crds"]


@pytest.fixture(scope="session")
def prometheus_installed() -> str:
    """Skip, or fail, where there is no Prometheus."""
    return program("prometheus")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def postgres(prometheus_installed: str) -> AsyncIterator[EmbeddedPostgres]:
    """Yield a server of the module's own, with a store in it, that a test may stop and start."""
    embedded = EmbeddedPostgres(Path(tempfile.gettempdir()) / f"sendonce-own-{uuid.uuid4().hex}")
    await embedded.start()
    await migrate(embedded.dsn())
    yield embedded
    await embedded.stop(remove=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def prometheus(prometheus_installed: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Prometheus]:
    """Yield a Prometheus that scrapes nothing yet."""
    running = Prometheus(tmp_path_factory.mktemp("prometheus"))
    try:
        await running.start()
        yield running
    finally:
        await running.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(
    prometheus: Prometheus,
    with_crds: Cluster,
    postgres: EmbeddedPostgres,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Scene]:
    """Yield the scene, with everybody in the middle of what goes wrong."""
    folder, namespace, cast = tmp_path_factory.mktemp("scene"), f"scene-{uuid.uuid4().hex[:8]}", roles()
    with_crds.kubectl("create", "namespace", namespace)
    (folder / "files").mkdir()
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(open_cluster(with_crds.kubeconfig))
        simulators = await far_ends(stack, folder, cast)
        await stack.enter_async_context(visited(postgres.dsn(), folder / "receipts", prometheus))
        pods = WatchedPods(api, namespace, postgres.dsn(), folder / "files", folder / "workers.log")
        pods.watch = prometheus.add
        prometheus.add(await visited_console(stack, with_crds.kubeconfig, postgres.dsn()))
        stage = Stage(with_crds, api, namespace, postgres.dsn(), folder, simulators["frozen"], pods)
        try:
            yield await begin(stage, prometheus, simulators, cast)
        finally:
            await stage.aclose()
            await clear(stage)
