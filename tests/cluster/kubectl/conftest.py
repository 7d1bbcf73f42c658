"""People with `kubectl campaign` on a real API server, under plain Roles.

In: nothing. Out: `shop`, a namespace with a person for each role of `person.ROLES`, without an operator; `stage`, where
an operator, workers and a far end run.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.kubectl.person import Person, person_of
from tests.cluster.operator.conftest import admin_dsn, dsn, stage, template, with_crds
from tests.cluster.operator.stage import campaign
from tests.cluster.reach import Cluster

__all__ = ["admin_dsn", "dsn", "stage", "template", "with_crds"]


@dataclass(frozen=True)
class Shop:
    """A namespace, and people in it."""

    cluster: Cluster
    namespace: str
    folder: Path
    known: dict[str, Person] = field(default_factory=dict)

    def person(self, role: str) -> Person:
        if role not in self.known:
            self.known[role] = person_of(self.cluster, role, self.namespace, self.folder)
        return self.known[role]

    def apply(self, *documents: Mapping[str, Any]) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        self.cluster.kubectl("-n", self.namespace, "apply", "-f-", stdin=json.dumps(listed))

    def status(self, name: str, status: Mapping[str, Any], kind: str = "nc") -> None:
        """Write a status, as the operator would."""
        patch = json.dumps({"status": status})
        self.cluster.kubectl(
            "-n", self.namespace, "patch", kind, name, "--subresource=status", "--type=merge", f"--patch={patch}"
        )


@pytest.fixture(scope="module")
def shop(with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Yield a namespace in which the campaign `spring` was applied, and nobody looks after it."""
    namespace = f"shop-{uuid.uuid4().hex[:8]}"
    with_crds.kubectl("create", "namespace", namespace)
    found = Shop(with_crds, namespace, tmp_path_factory.mktemp("shop"))
    found.apply(campaign("spring"))
    yield found
    with_crds.kubectl("delete", "namespace", namespace, "--wait=false")
