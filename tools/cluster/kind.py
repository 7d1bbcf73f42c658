"""The same with kind, where an engine for containers is there.

In: `kind` and a Docker that answers. Out: a kind cluster `sendonce`, whose kubeconfig lies in a folder of ours and not
among a person's own.
"""

import shutil
import subprocess
from pathlib import Path

from tools.cluster.errors import ClusterError, MissingPartError
from tools.cluster.places import default_state

from sendonce_cli.kernel_lock import held

NAME = "sendonce"
CONTEXT = f"kind-{NAME}"


def kubeconfig_path() -> Path:
    """Return the kubeconfig of the kind cluster."""
    return default_state(control_plane=False).parent / "kind.kubeconfig"


def missing() -> str:
    """Return why kind can't be used here, with the fix; nothing if it can."""
    if shutil.which("kind") is None:
        return "kind is not installed: kind.sigs.k8s.io/docs/user/quick-start says how; `make cluster` needs no kind"
    if shutil.which("docker") is None:
        return "Docker is not installed, and kind runs its nodes there; `make cluster` needs no Docker"
    if subprocess.run(["docker", "info"], check=False, capture_output=True).returncode:
        return "Docker does not answer: start it, or take `make cluster`, which needs no Docker"
    return ""


def _run(*arguments: str) -> str:
    done = subprocess.run(["kind", *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise ClusterError(f"`kind {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout


def is_up() -> bool:
    """Return whether our kind cluster exists."""
    return NAME in _run("get", "clusters").split()


def up() -> Path:
    """Bring the kind cluster up if it is not, and return its kubeconfig; raise MissingPartError where kind can't be."""
    reason = missing()
    if reason:
        raise MissingPartError(reason)
    path = kubeconfig_path()
    # Test processes come here side by side.
    with held(path.with_suffix(".lock")):
        if is_up():
            _run("export", "kubeconfig", "--name", NAME, "--kubeconfig", str(path))
        else:
            _run("create", "cluster", "--name", NAME, "--kubeconfig", str(path), "--wait", "120s")
    return path


def load(archive: Path) -> None:
    """Give an image archive to the kind cluster."""
    _run("load", "image-archive", str(archive), "--name", NAME)


def down() -> None:
    """Delete the kind cluster and its kubeconfig."""
    _run("delete", "cluster", "--name", NAME, "--kubeconfig", str(kubeconfig_path()))
    kubeconfig_path().unlink(missing_ok=True)
