"""What all tests of a process share, and how a test gets a namespace in it.

In: the cluster with the product, the store, where Pods reach this machine. Out: a Shop: a namespace with a login of the
store, the authorities to trust, and a far end of its own.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.e2e.outside import Database, far_end
from tests.cluster.e2e.shop import Shop, config_map
from tests.cluster.e2e.trust import CONFIG_MAP, Trust
from tests.cluster.manifests import as_list, namespace
from tests.cluster.reach import Cluster

# the operator's namespace
SYSTEM = "sendonce-system"


@dataclass(frozen=True)
class Premises:
    """A cluster in which the operator runs, and what is outside of it."""

    cluster: Cluster
    store: Database
    host: str
    trust: Trust

    def sendonce(self, *words: str) -> str:
        """What the command says of this store."""
        command = [sys.executable, "-P", "-m", "sendonce_cli", *words, "--database", self.store.here]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"sendonce {' '.join(words)}: {done.stderr}"
        return done.stdout

    def add_tenant(self, name: str) -> None:
        """As docs/tenancy.md has it: `sendonce tenant add … | kubectl apply -f -`."""
        secret = self.sendonce("tenant", "add", name, "--address", self.store.address)
        self.cluster.kubectl("apply", "-f-", stdin=secret)

    @contextmanager
    def space(self, labels: Mapping[str, str] | None = None) -> Iterator[str]:
        """Make a namespace, whose name it yields. It has the authorities to trust, but no login of the store."""
        name = f"shop-{uuid.uuid4().hex[:8]}"
        made = namespace(name)
        made["metadata"]["labels"].update(labels or {})
        trusted = config_map(CONFIG_MAP, **{"ca.crt": self.trust.authority})
        trusted["metadata"]["namespace"] = name
        self.cluster.kubectl("apply", "-f-", stdin=as_list(made, trusted))
        yield name
        # the operator ends what a failed test left; nobody needs its name again
        self.cluster.kubectl("delete", "namespace", name, "--wait=false")

    @contextmanager
    def shop(
        self, folder: Path, *options: str, labels: Mapping[str, str] | None = None, tenant: bool = True
    ) -> Iterator[Shop]:
        """Make a namespace with a login, unless it is to have none, and a far end with further options."""
        with self.space(labels) as name, far_end(folder, self.host, *options) as running:
            if tenant:
                self.add_tenant(name)
            yield Shop(self.cluster, name, running, folder)
