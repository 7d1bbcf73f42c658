"""The same with kind, where an engine for containers is there.

In: `kind` and a Docker that answers. Out: a kind cluster `sendonce`, whose kubeconfig lies in a folder of ours and not
among a person's own.
"""

import ipaddress
import shutil
import socket
import subprocess
from pathlib import Path

from tools.cluster.errors import ClusterError, MissingPartError
from tools.cluster.places import default_state

from sendonce_cli.kernel_lock import held

NAME = "sendonce"
CONTEXT = f"kind-{NAME}"
# of Docker: kind puts its nodes there
_NETWORK = "kind"


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


def gateway(addresses: str) -> str | None:
    """Return the first IPv4 address of a list that blanks divide; IPv6 ones, and other words, are passed over."""
    for word in addresses.split():
        try:
            return str(ipaddress.IPv4Address(word))
        except ValueError:
            continue
    return None


def is_here(address: str) -> bool:
    """Return whether this machine listens at an address: not where Docker runs in a machine of its own."""
    with socket.socket() as listening:
        try:
            listening.bind((address, 0))
        except OSError:
            return False
    return True


def host() -> str | None:
    """Return the address at which Pods reach this machine, if there is one: the nodes' way out."""
    template = "{{range .IPAM.Config}}{{.Gateway}} {{end}}"
    command = ["docker", "network", "inspect", _NETWORK, "--format", template]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    address = gateway(done.stdout)
    return address if address is not None and is_here(address) else None


def down() -> None:
    """Delete the kind cluster and its kubeconfig."""
    _run("delete", "cluster", "--name", NAME, "--kubeconfig", str(kubeconfig_path()))
    kubeconfig_path().unlink(missing_ok=True)
