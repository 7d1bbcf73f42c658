"""The commands of README and docs that speak to a cluster, run as a reader would, page by page.

One API server, one operator, workers as processes and a far end for all pages. The reader is in the namespace `shop`,
where the campaign `spring` has been sent and `autumn` is under way, suspended.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
import yaml
from tests.cluster.operator.cast import Pods
from tests.cluster.operator.conftest import clear
from tests.cluster.operator.stage import Stage, campaign, provider
from tests.cluster.reach import Cluster, kubectl_program
from tests.docs_cases.blocks import commands_of, pages_to_run
from tests.docs_cases.terminal import Terminal, as_url
from tests.integration.conftest import admin_dsn, create_database, drop_database, postgres_binaries, template

from sendonce_cli.embedded_binaries import find_binaries
from sendonce_cli.simulate import SimulatorSettings, serve
from sendonce_operator.cluster import open_cluster

__all__ = ["admin_dsn", "postgres_binaries", "template"]
ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = "shop"
# that of examples/first, whose far end would be a Pod: the simulator stands in for it
FIRST, FAR_END = "first", "far-end.first.svc.cluster.local:8080"
pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Place:
    """Where a reader stands."""

    stage: Stage
    environment: dict[str, str]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(control_plane: Cluster, admin_dsn: str, template: str) -> AsyncIterator[Place]:
    """Yield a place with everything in it; it is made once for all pages."""
    dsn, copy = await create_database(admin_dsn, template), await create_database(admin_dsn)
    for arguments in (("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds")),
                      ("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"),
                      ("apply", "-f", str(ROOT / "deploy/operator.yaml")),
                      ("create", "namespace", NAMESPACE)):  # fmt: skip
        await asyncio.to_thread(control_plane.kubectl, *arguments)
    with tempfile.TemporaryDirectory(prefix="sendonce-docs-") as made:
        folder = Path(made)
        async with (
            open_cluster(control_plane.kubeconfig) as api,
            serve(SimulatorSettings(ledger=folder / "far-end.ndjson")) as simulator,
        ):
            pods = [Pods(api, one, dsn, folder, folder / "workers.log") for one in (NAMESPACE, FIRST)]
            stage = Stage(control_plane, api, NAMESPACE, dsn, folder, simulator, pods[0])
            try:
                await _perform(stage)
                yield Place(stage, {**_environment(stage), "DATABASE": as_url(dsn), "COPY": as_url(copy)})
            finally:
                await pods[1].aclose()
                await stage.aclose()
                await clear(stage)
    await asyncio.to_thread(control_plane.kubectl, "delete", "-f", str(ROOT / "deploy/operator.yaml"), "--timeout=60s")
    for one in (dsn, copy):
        await drop_database(admin_dsn, one)


async def _perform(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring", count=3), campaign("autumn", count=3, suspend=True))
    await stage.until_complete("spring")
    await stage.until_condition("autumn", "Suspended", "True")


def _environment(stage: Stage) -> dict[str, str]:
    config = yaml.safe_load(stage.cluster.kubeconfig.read_text("utf-8"))
    for context in config["contexts"]:
        context["context"]["namespace"] = NAMESPACE
    kubeconfig = stage.folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config), "utf-8")
    return {"KUBECONFIG": str(kubeconfig)}


@pytest.mark.parametrize("page", pages_to_run(cluster=True))
async def test_the_commands_of_a_page_do_what_it_says(
    place: Place, page: str, tmp_path: Path, postgres_binaries: Path | None
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/kubectl").symlink_to(kubectl_program())
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    programs = [tmp_path / "bin", find_binaries(postgres_binaries, tmp_path / "none", None).folder]
    words = {FAR_END: f"127.0.0.1:{place.stage.simulator.http_port}"}
    terminal = Terminal(checkout, words, programs, place.environment)
    terminal.prepare()
    ran = await asyncio.to_thread(terminal.run, commands_of(page))
    assert ran.code == 0, ran.output
    if page == "docs/first-campaign.md":
        assert ran.output.endswith("AlreadySent")
        received = {to: count for to, count in place.stage.received().items() if "reader" in to}
        assert (len(received), set(received.values())) == (50, {1})
