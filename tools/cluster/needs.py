"""What must be on the machine, and the cure for what is not.

In: what is asked for, and questions to the machine. Out: nothing, or a MissingPartError that names each part with its
fix. Asked before anything is started.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tools.cluster import places, programs
from tools.cluster.errors import MissingPartError

CNI = Path("/usr/lib/cni")
CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap")

# Debian's packages, and what is used of each
_CONTROL_PLANE_PACKAGES: dict[str, tuple[str, ...]] = {"etcd-server": ("etcd",)}
_NODE_PACKAGES: dict[str, tuple[str, ...]] = {
    "catatonit": ("catatonit",),
    "conntrack": ("conntrack",),
    "containerd": ("containerd", "ctr"),
    "iproute2": ("ip",),
    "iptables": ("iptables",),
    "mount": ("mount",),
    "nftables": ("nft",),
    "runc": ("runc",),
    "util-linux": ("nsenter", "unshare"),
}
# Not of the node, but of who makes images for it
_IMAGE_PACKAGES: dict[str, tuple[str, ...]] = {"buildah": ("buildah",), "mmdebstrap": ("mmdebstrap",)}
# Not of the cluster, but of the tests that watch it, import from another database, or look at the console
_TEST_PACKAGES: dict[str, tuple[str, ...]] = {
    "chromium": ("chromium",),
    "mariadb-client-core": ("my_print_defaults",),
    "mariadb-server-core": ("mariadbd", "mariadb-install-db"),
    "prometheus": ("prometheus", "promtool"),
}
_ADMINISTRATORS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Machine:
    """The questions that a machine is asked."""

    is_root: bool
    has: Callable[[str], bool]
    has_file: Callable[[Path], bool]
    built: Callable[[str], bool]


def find(program: str) -> str | None:
    """Return the path of a program; those of the administrator are found though they are not in everybody's PATH."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *_ADMINISTRATORS])
    return shutil.which(program, path=path)


def this_machine(folder: Path) -> Machine:
    """Return the machine we are on, with the programs of a folder."""
    return Machine(
        is_root=os.geteuid() == 0,
        has=lambda program: find(program) is not None or (folder / program).exists(),
        has_file=Path.exists,
        built=lambda name: (folder / name).exists(),
    )


def _absent(packages: dict[str, tuple[str, ...]], machine: Machine) -> Iterator[str]:
    for package, names in packages.items():
        if not all(machine.has(name) for name in names):
            yield package


def absent_packages(machine: Machine, *, control_plane: bool) -> Iterator[str]:
    """Yield the names of Debian's packages that a cluster lacks here."""
    yield from _absent(_CONTROL_PLANE_PACKAGES if control_plane else _CONTROL_PLANE_PACKAGES | _NODE_PACKAGES, machine)
    if not control_plane and not all(machine.has_file(CNI / plugin) for plugin in CNI_PLUGINS):
        yield "containernetworking-plugins"


def absent_image_packages(machine: Machine) -> Iterator[str]:
    """Yield the names of Debian's packages that are lacking to make images here."""
    yield from _absent(_IMAGE_PACKAGES, machine)


def absent_test_packages(machine: Machine) -> Iterator[str]:
    """Yield the names of Debian's packages that are lacking to test alerts, imports and pages here."""
    yield from _absent(_TEST_PACKAGES, machine)


def complaints(machine: Machine, *, control_plane: bool) -> list[str]:
    """Return what is missing, one line per part with its fix."""
    found = []
    absent = list(absent_packages(machine, control_plane=control_plane))
    if not control_plane and not machine.is_root:
        found.append("root: a node makes namespaces, mounts and interfaces; run it as root, or take `make kind`")
    if absent:
        found.append(f"on Debian: apt-get install --no-install-recommends {' '.join(absent)}")
    names = programs.CONTROL_PLANE if control_plane else programs.CONTROL_PLANE + programs.NODE
    unbuilt = [name for name in names if not machine.built(name)]
    if unbuilt and not machine.has("go"):
        found.append(f"Go, to build {', '.join(unbuilt)}: install it from go.dev/dl, or take `make kind`")
    return found


def check(folder: Path | None, *, control_plane: bool) -> None:
    """Raise MissingPartError when something is missing. `folder` has programs that somebody else built."""
    machine = this_machine(folder or places.programs())
    if folder:
        machine = replace(machine, built=lambda _name: True)
    found = complaints(machine, control_plane=control_plane)
    if found:
        what = "A control plane" if control_plane else "A node"
        raise MissingPartError("\n  ".join([f"{what} can't be started on this machine. Missing:", *found]))
