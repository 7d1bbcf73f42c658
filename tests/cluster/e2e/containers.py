"""The processes of Pods as this machine sees them: they are stopped, killed, and run out of memory from outside.

In: a shop and its Pods. Only on a node of the tests' own; elsewhere the test is skipped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.cluster.e2e.shop import Pod, Shop
from tools.cluster import cgroups, parts

# What takes memory until somebody is killed for it. It can't be: what is left to kill is the container's own process.
_HUNGRY = """
import sys
open("/proc/self/oom_score_adj", "w").write("-1000")
open(sys.argv[1] + "/cgroup.procs", "w").write("0")
print("in", flush=True)
taken = []
while True:
    taken.append(b"x" * (1 << 20))
"""


def _groups(shop: Shop) -> list[Path]:
    """The control groups of all Pods, in each hierarchy."""
    if shop.cluster.state is None:
        pytest.skip("processes of Pods are found on a node of the tests' own only")
    at = parts.known(shop.cluster.state).addresses
    assert at is not None
    return cgroups.present(at.group)


def _processes(files: Iterable[Path]) -> list[int]:
    return sorted({int(pid) for file in files for pid in file.read_text("ascii").split()})


def processes(shop: Shop, pod: Pod) -> list[int]:
    """Ids of a container's processes."""
    files = (file for folder in _groups(shop) for file in folder.rglob("cgroup.procs"))
    return _processes(file for file in files if pod.container in str(file))


def all_processes(shop: Shop) -> list[int]:
    """Ids of the processes of all Pods of the node."""
    return _processes(file for folder in _groups(shop) for file in folder.rglob("cgroup.procs"))


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to processes, of which some may be gone."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def are_there(pids: Iterable[int]) -> bool:
    """Whether any of the processes is still there."""
    return any(Path(f"/proc/{pid}").exists() for pid in pids)


def kill(shop: Shop, pod: Pod) -> None:
    """SIGKILL, as nobody can be asked to stop."""
    send(processes(shop, pod), signal.SIGKILL)


def _memory_group(shop: Shop, pod: Pod) -> Path:
    """The control group that has the container's limit of memory, of version 1 or 2."""
    folders = (folder for group in _groups(shop) for folder in group.rglob(f"*{pod.container}*"))
    limits = ("memory.limit_in_bytes", "memory.max")
    return next(folder for folder in folders if any((folder / limit).exists() for limit in limits))


@contextmanager
def _hungry(group: Path) -> Iterator[None]:
    command = [sys.executable, "-c", _HUNGRY, str(group)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        try:
            yield
        finally:
            process.kill()


def run_out_of_memory(shop: Shop, pod: Pod) -> None:
    """Use up the container's limit of memory, until the kernel has killed its process for it."""
    worker = processes(shop, pod)
    with _hungry(_memory_group(shop, pod)):
        shop.until(lambda: not are_there(worker), "the kernel has killed the worker")
