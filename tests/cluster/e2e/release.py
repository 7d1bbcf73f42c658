"""The product's one Helm release on a node: values in, `helm` with them out.

A test may upgrade it, roll it back or take it away; the next one that needs it as it comes asks `ensure`.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.manifests import as_list, namespace
from tests.cluster.reach import Cluster
from tools.chart.__main__ import CHART
from tools.chart.helm import program

Object = dict[str, Any]
SYSTEM = "sendonce-system"
NAME = "sendonce"
PATIENCE = "180s"


def images_as_values(images: dict[str, str]) -> Object:
    """The names of images as the chart's values; `worker` is `workers` there."""
    parts = {"worker": "workers"}
    found = {}
    for part, name in images.items():
        repository, _, tag = name.rpartition(":")
        found[parts.get(part, part)] = {"image": {"repository": repository, "tag": tag}}
    return found


def merged(old: Object, new: Object) -> Object:
    """Values over values, as helm takes several files."""
    both = {
        key: merged(old[key], value) if isinstance(value, dict) and isinstance(old.get(key), dict) else value
        for key, value in new.items()
    }
    return {**old, **both}


@dataclass
class Release:
    """The release. `values`: what every install of the tests has; `as_it_comes`: whether nothing else is in force.

    `authorities`: the ConfigMap of those that workers trust, for the campaign of `helm test`.
    """

    cluster: Cluster
    values: Object
    dsn: str
    authorities: Object
    chart: Path = CHART
    as_it_comes: bool = field(default=False, init=False)

    def helm(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run helm in the cluster and nowhere else."""
        where = [f"--kube-context={self.cluster.context}", "--namespace", SYSTEM]
        return subprocess.run(
            [program(), *arguments, *where],
            env=self.cluster.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def furnish(self, dsn: str | None = None) -> None:
        """Make the namespace, the database's Secret and the authorities: all that an install needs."""
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sendonce-store", "namespace": SYSTEM}}
        self.cluster.kubectl("apply", "-f-", stdin=as_list(namespace(SYSTEM)))
        self.cluster.kubectl("-n", SYSTEM, "apply", "-f-", stdin=json.dumps(self.authorities))
        given = {**secret, "stringData": {"dsn": self.dsn if dsn is None else dsn}}
        self.cluster.kubectl("apply", "-f-", stdin=json.dumps(given))

    def put(self, values: Object | None = None, chart: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Install or upgrade, with further values or another chart, and wait for it."""
        self.as_it_comes = False
        given = json.dumps(merged(self.values, values or {}))
        ready = ["--wait", f"--timeout={PATIENCE}"]
        return self.helm("upgrade", "--install", NAME, str(chart or self.chart), "--values=-", *ready, stdin=given)

    def ensure(self) -> None:
        """Have the release as it comes."""
        if self.as_it_comes:
            return
        self.furnish()
        done = self.put()
        assert done.returncode == 0, f"{done.stderr}\n{self.shown()}"
        self.as_it_comes = True

    def remove(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Uninstall."""
        self.as_it_comes = False
        return self.helm("uninstall", NAME, "--wait", f"--timeout={PATIENCE}", *options)

    def roll_back(self) -> subprocess.CompletedProcess[str]:
        """Go back to the revision before."""
        self.as_it_comes = False
        return self.helm("rollback", NAME, "--wait", f"--timeout={PATIENCE}")

    def shown(self) -> str:
        """What a person would look at."""
        looks = [("get", "all,events"), ("describe", "pods"), ("logs", "deployment/sendonce-operator", "--tail=40")]
        return "\n".join(self.cluster.kubectl("-n", SYSTEM, *look, check=False) for look in looks)
