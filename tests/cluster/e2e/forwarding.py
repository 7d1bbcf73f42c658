"""A Service of the cluster on a port of this machine, as a person reaches it: `kubectl port-forward`.

In: the cluster, a namespace, a Service. Out: an address while the program runs.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.reach import Cluster, kubectl_program


@contextmanager
def forwarded(cluster: Cluster, namespace: str, service: str, port: int) -> Iterator[str]:
    """Yield `http://127.0.0.1:PORT`."""
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
