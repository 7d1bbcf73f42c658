"""The control groups that the Pods of a node are in.

In: this machine's cgroup file systems, version 1 or 2, and the name of a node's group. Out: the group in each that has
controllers, and no such group anywhere after the end.
"""

from functools import partial
from pathlib import Path

from tools.cluster.waiting import until

_V2_CONTROLLERS = "+cpu +cpuset +io +memory +pids"


def roots(mountinfo: str) -> dict[Path, str]:
    """Return the mounted cgroup file systems and their kind, `cgroup` or `cgroup2` (proc(5), /proc/pid/mountinfo)."""
    found = {}
    for line in mountinfo.splitlines():
        front, _, back = line.partition(" - ")
        found[Path(front.split()[4])] = back.split()[0]
    return {path: kind for path, kind in found.items() if kind in {"cgroup", "cgroup2"}}


def _mounted() -> dict[Path, str]:
    return roots(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))


def make(group: str) -> None:
    """Make the group in each hierarchy that has controllers: beside version 1, version 2 has none."""
    mounted = _mounted()
    kind = "cgroup" if "cgroup" in mounted.values() else "cgroup2"
    for root in (root for root, its_kind in mounted.items() if its_kind == kind):
        if kind == "cgroup2":
            (root / "cgroup.subtree_control").write_text(_V2_CONTROLLERS, encoding="ascii")
        (root / group).mkdir(exist_ok=True)
        # A new set of processors is empty, and nothing can run on none.
        for name in ("cpuset.cpus", "cpuset.mems"):
            if kind == "cgroup" and (root / name).exists():
                (root / group / name).write_text((root / name).read_text(encoding="ascii"), encoding="ascii")


def present(group: str) -> list[Path]:
    """Return where the group is. runc makes one in each hierarchy, with controllers or not."""
    return [root / group for root in _mounted() if (root / group).exists()]


def _remove(group: Path) -> bool:
    """Remove a group with all below it, from the bottom up; return whether it is gone."""
    for folder in sorted((each for each in group.rglob("*") if each.is_dir()), reverse=True):
        try:
            folder.rmdir()
        except OSError:
            return False
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove(group: str) -> None:
    """Remove the group. A process that has just ended keeps its group for a moment."""
    for folder in present(group):
        until(partial(_remove, folder), f"removing {folder}", seconds=20)
