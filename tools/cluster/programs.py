"""Build the programs of Kubernetes, once.

In: the pinned modules beside this file, and Go. Out: programs in the user's cache folder. The version is a part of the
folder's name: another one is built beside it. The first program takes some minutes; the others share most of it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.cluster import places
from tools.cluster.errors import ClusterError
from tools.cluster.places import CLI_UTILS, KUBERNETES, MODULES

from sendonce_cli.kernel_lock import held

CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
NODE = ("kubelet", "kube-proxy", "coredns")
# no part of a cluster: it tells what Flux and other tools make of an object
KSTATUS = f"kstatus-{CLI_UTILS}"

_TICK = 30
_VERSION = "k8s.io/component-base/version"


def missing(names: Sequence[str], folder: Path) -> list[str]:
    """Return which of the programs are not built yet."""
    return [name for name in names if not (folder / name).exists()]


def build_command(name: str, target: Path) -> tuple[Path, list[str]]:
    """Return where and how a program is built: without C, without paths of this machine, with its version in it."""
    module, package, flags = MODULES / "kubernetes", f"k8s.io/kubernetes/cmd/{name}", _kubernetes_flags()
    if name == "coredns":
        module, package, flags = MODULES / "coredns", "github.com/coredns/coredns", ""
    if name == KSTATUS:
        module, package, flags = MODULES / "kstatus", ".", ""
    return module, ["go", "build", "-trimpath", "-ldflags", f"-s -w {flags}".strip(), "-o", str(target), package]


def _kubernetes_flags() -> str:
    major, minor, _patch = KUBERNETES.removeprefix("v").split(".")
    values = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor}
    return " ".join(f"-X {_VERSION}.{name}={value}" for name, value in values.items())


def build(names: Sequence[str]) -> Path:
    """Build what is not there yet and return the folder; orders that run side by side wait for each other."""
    folder = places.programs()
    if missing(names, folder):
        with held(folder.with_name(f"{folder.name}.lock")):
            wanted = missing(names, folder)
            for number, name in enumerate(wanted, start=1):
                _build(name, folder, f"{number} of {len(wanted)}")
    return folder


def _build(name: str, folder: Path, position: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / f"{name}.part"
    module, command = build_command(name, scratch)
    print(f"Building {name} ({position}) from pinned sources", flush=True)
    began = time.monotonic()
    # Somebody works on this machine while it builds.
    if _run_with_progress(["nice", "-n", "10", *command], module, name):
        raise ClusterError(f"{name} can't be built: what Go says stands above")
    scratch.replace(folder / name)
    print(f"Built {name} in {time.monotonic() - began:.0f} s", flush=True)


def _run_with_progress(command: list[str], folder: Path, name: str) -> int:
    """Run a command to its end with a line now and then; return its exit code."""
    began = time.monotonic()
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=sys.stderr) as process:
        while True:
            try:
                return process.wait(_TICK)
            except subprocess.TimeoutExpired:
                print(f"  still building {name}: {time.monotonic() - began:.0f} s", flush=True)
