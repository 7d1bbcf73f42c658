"""The chart on an API server where no Pods run: what helm refuses, what people may do, what an uninstall looks at.

In: nothing. Out, for a test that asks for `room`: a namespace with the database's Secret, in which helm is run. The
CRDs are those of other tests on the same API server, and stay.
"""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.cluster.manifests import as_list, namespace
from tests.cluster.reach import Cluster
from tools.chart.__main__ import CHART
from tools.chart.helm import program
from tools.cluster.places import ROOT

Object = dict[str, Any]
# No Pod runs here, so that no Job of a hook would end.
BARE = ["--set=crds.create=false,migrations.enabled=false"]


@dataclass(frozen=True)
class Room:
    """A namespace, and helm in it."""

    cluster: Cluster
    namespace: str

    def helm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        where = [f"--kube-context={self.cluster.context}", "--namespace", self.namespace]
        return subprocess.run(
            [program(), *arguments, *where],
            env=self.cluster.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def install(self, *options: str, name: str = "sendonce") -> subprocess.CompletedProcess[str]:
        return self.helm("install", name, str(CHART), *BARE, *options)

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        return self.cluster.kubectl("-n", self.namespace, *arguments, stdin=stdin, check=check)

    def releases(self) -> list[str]:
        """Every release of the namespace, however it stands."""
        return self.helm("list", "--short", "--all-namespaces").stdout.split()

    def secret(self, **data: str) -> None:
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sendonce-store"}, "stringData": data}
        self.kubectl("apply", "-f-", stdin=json.dumps(body))


@pytest.fixture(scope="session")
def with_crds(control_plane: Cluster) -> Cluster:
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    control_plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    return control_plane


@pytest.fixture
def room(with_crds: Cluster) -> Iterator[Room]:
    room = Room(with_crds, f"room-{uuid.uuid4().hex[:8]}")
    with_crds.kubectl("apply", "-f-", stdin=as_list(namespace(room.namespace)))
    room.secret(dsn="postgresql://owner@db.example/sendonce")
    yield room
    room.helm("uninstall", "sendonce", "--no-hooks", "--ignore-not-found")
    with_crds.kubectl("delete", "namespace", room.namespace, "--wait=false")
