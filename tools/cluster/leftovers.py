"""Say what of a cluster is still on the machine.

In: a state folder. Out: a line for each process, mount, interface, route, control group or folder; none after `down`.
Packet filter tables, network namespaces and Pods' mounts exist inside the node only, and can't outlive its processes.
"""

from collections.abc import Iterator
from pathlib import Path

from tools.cluster import cgroups
from tools.cluster.addresses import SLOTS, Addresses
from tools.cluster.processes import marked


def mounts_below(state: Path) -> list[str]:
    """Return the mount points below a folder, as seen by this process."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    points = [line.split()[4] for line in lines]
    return [point for point in points if Path(point).is_relative_to(state)]


def slots() -> list[Addresses]:
    """Return the nodes whose link or control group is on this machine."""
    nodes = [Addresses(slot) for slot in SLOTS]
    return [at for at in nodes if Path("/sys/class/net", at.host_link).exists() or cgroups.present(at.group)]


def all_of(state: Path, at: Addresses | None) -> Iterator[str]:
    """Yield a line per thing that is left of the cluster in a folder, and of the node that it was."""
    for process in marked(state):
        yield f"process {process.pid}"
    for point in mounts_below(state):
        yield f"mount {point}"
    if at is not None:
        if Path("/sys/class/net", at.host_link).exists():
            yield f"interface {at.host_link}"
        yield from (f"control group {folder}" for folder in cgroups.present(at.group))
    if state.exists():
        yield f"folder {state}"
