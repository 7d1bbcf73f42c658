"""A Service of the cluster as this machine reaches it.

In: the cluster, a namespace, a Service. Out: an address, `http://HOST:PORT`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.reach import Cluster, kubectl_program


@contextmanager
def forwarded(cluster: Cluster, namespace: str, service: str, port: int) -> Iterator[str]:
    """By `kubectl port-forward`, as a person does: to one Pod of it, and only for as long as that runs."""
    where = [f"--context={cluster.context}", "-n", namespace, "port-forward", "--address=127.0.0.1"]
    command = [kubectl_program(), *where, f"service/{service}", f":{port}"]
    with subprocess.Popen(command, env=cluster.environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"127\.0\.0\.1:\d+", line)
            assert found is not None, f"kubectl port-forward said {line!r}"
            yield f"http://{found[0]}"
        finally:
            process.kill()


@contextmanager
def reached(cluster: Cluster, namespace: str, service: str, port: int) -> Iterator[str]:
    """At its own address, which leads to whatever Pod is ready; where that does not lead here, by a port-forward."""
    if cluster.state is None:
        with forwarded(cluster, namespace, service, port) as address:
            yield address
        return
    found = cluster.kubectl("-n", namespace, "get", "service", service, "-o", "jsonpath={.spec.clusterIP}")
    yield f"http://{found}:{port}"
