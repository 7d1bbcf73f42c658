"""The product in a cluster on this machine: the chart, with a PostgreSQL of its own.

In: a cluster, and what gives it images. Out: the release `sendonce` in the namespace `sendonce-system`, as an install
by hand would have it. What is up to date stays as it is.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.chart import helm
from tools.cluster import postgres_image, product_images
from tools.cluster.errors import ClusterError
from tools.cluster.places import ROOT

NAMESPACE = "sendonce-system"
RELEASE = "sendonce"
CHART = ROOT / "charts" / "sendonce"
_PARTS = {"operator": "operator", "worker": "workers", "console": "console", "gateway": "gateway", "cli": "cli"}
_MINUTES = 5

Load = Callable[[Path], object]


def values(images: dict[str, str], postgres: str | None) -> dict[str, Any]:
    """Return the values. `images`: names by program; `postgres`: a tag of ours, None for the official image."""
    found: dict[str, Any] = {"postgresql": {"enabled": True}, "console": {"enabled": True}}
    for program, name in images.items():
        repository, _, tag = name.rpartition(":")
        found.setdefault(_PARTS[program], {})["image"] = {"repository": repository, "tag": tag}
    if postgres is not None:
        # a node of ours has no StorageClass
        image = {"repository": postgres_image.REPOSITORY, "tag": postgres}
        found["postgresql"] |= {"image": image, "user": postgres_image.USER, "storage": {"persistent": False}}
    return found


def command(context: str) -> list[str]:
    """Return the command that installs or upgrades, with values on its standard input."""
    where = [f"--kube-context={context}", f"--namespace={NAMESPACE}", "--create-namespace"]
    ready = ["--values=-", "--wait", f"--timeout={_MINUTES}m"]
    return [str(helm.program()), "upgrade", "--install", RELEASE, str(CHART), *where, *ready]


def install(kubeconfig: Path, context: str, load: Load, *, own_postgres: bool) -> None:
    """Build the images, load them, and install; raise ClusterError with helm's words."""
    images = {}
    for program in product_images.PROGRAMS:
        built = product_images.build(program, os.environ)
        load(built.archive)
        images[program] = built.name
    tag = None
    if own_postgres:
        tag, archive = postgres_image.build()
        load(archive)
    print(f"Installing the chart in namespace {NAMESPACE}", flush=True)
    given = json.dumps(values(images, tag))
    here = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    done = subprocess.run(command(context), env=here, input=given, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ClusterError(f"the chart can't be installed: {done.stderr.strip()}")
