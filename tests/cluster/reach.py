"""A handle on a cluster, for tests.

In: where its kubeconfig is, and what can be done with it. Out: clients, `kubectl`, and levers on its parts where the
cluster is the tests' own. Clients are made of the one file only, never of what the environment says.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kubernetes.aio.client
import kubernetes.aio.config
import kubernetes.client
import kubernetes.config
import pytest
from tools.cluster import images, kind, node, parts, places
from tools.cluster.needs import find
from tools.cluster.processes import Process


def kubectl_program() -> str:
    """Return the kubectl of the same version if it is built, else the machine's."""
    built = places.programs() / "kubectl"
    return str(built) if built.exists() else find("kubectl") or "kubectl"


@dataclass(frozen=True)
class Cluster:
    """A cluster and its kubeconfig, in which there is one context only."""

    description: str
    kubeconfig: Path
    context: str
    # The state folder of a cluster of the tests' own; None for one that others may use too.
    state: Path | None = None
    # Whether owners are followed, Deployments get their Pods and service accounts exist: not with envtest.
    has_controllers: bool = True
    # Where Pods reach what listens on this machine, if that is known.
    host: str | None = None

    def client(self) -> kubernetes.client.ApiClient:
        """Return a new client; it is a context manager, and its user closes it."""
        client: Any = kubernetes.config.new_client_from_config(  # type: ignore[no-untyped-call]
            config_file=str(self.kubeconfig), context=self.context, persist_config=False
        )
        return client  # type: ignore[no-any-return]

    async def async_client(self) -> kubernetes.aio.client.ApiClient:
        """Return a new client for asyncio; it is an asynchronous context manager, and its user closes it."""
        client: Any = await kubernetes.aio.config.new_client_from_config(  # type: ignore[no-untyped-call]
            config_file=str(self.kubeconfig), context=self.context, persist_config=False
        )
        return client  # type: ignore[no-any-return]

    def environment(self) -> dict[str, str]:
        """Return an environment in which programs find this cluster and no other."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        """Run kubectl and return what it printed; AssertionError with its complaint if it fails and `check` is on."""
        command = [kubectl_program(), f"--context={self.context}", *arguments]
        done = subprocess.run(
            command, env=self.environment(), input=stdin, capture_output=True, text=True, check=False, timeout=300
        )
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def _own(self, wish: str) -> Path:
        if self.state is None:
            pytest.skip(f"only a cluster of the tests' own lets {wish}; this is {self.description}")
        return self.state

    def stop(self, part: str, *, grace: float = 10.0) -> None:
        """End one part, as `kubelet` or `kube-apiserver`; without grace it is killed. Elsewhere the test is skipped."""
        parts.stop_part(self._own(f"{part} be stopped"), part, grace=grace)

    def start(self, part: str) -> None:
        """Start a part that was stopped."""
        parts.start_part(self._own(f"{part} be started"), part)

    def process(self, part: str) -> Process:
        """Return the process of a part, to freeze it for example."""
        return parts.process_of(self._own(f"{part} be touched"), part)

    def names(self, address: str, *names: str) -> None:
        """Let Pods find names outside the cluster at an address of this machine."""
        state = self._own("names be given")
        (state / node.HOSTS).write_text("".join(f"{address} {name}\n" for name in names), "ascii")

    def load(self, archive: Path) -> None:
        """Give the node the images of an archive."""
        if self.context == kind.CONTEXT:
            kind.load(archive)
            return
        state = self._own("images be loaded")
        init = parts.known(state).init
        assert init is not None, f"{self.description} has no node"
        images.load(init, state, archive)
