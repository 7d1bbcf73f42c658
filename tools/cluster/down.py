"""Take a cluster down and leave nothing behind.

In: a state folder, of a cluster that is up, half up or crashed. Out: no process, mount, interface, group or file of it.
Processes are ended only if they are still the ones that were started: by id and start time, or by the mark that they
carry in their environment.
"""

import shutil
from pathlib import Path

from tools.cluster import cgroups, sandbox
from tools.cluster.errors import ClusterError
from tools.cluster.leftovers import mounts_below
from tools.cluster.processes import end, marked
from tools.cluster.record import FILE, Record, read
from tools.cluster.waiting import until

from sendonce_cli.kernel_lock import held


def lock_file(state: Path) -> Path:
    """Return the lock that one order at a time holds."""
    return state.parent / f".{state.name}.lock"


def down(state: Path) -> bool:
    """Take the cluster in a folder down; return whether there was one."""
    with held(lock_file(state)):
        there_was = take_down(state)
        # Whoever waits for it notices that it is gone, and makes a new one.
        lock_file(state).unlink()
        return there_was


def take_down(state: Path) -> bool:
    """As `down`, for somebody who holds the lock."""
    if not state.exists():
        return False
    record = read(state)
    if record is None:
        _refuse_foreign_folder(state)
    _end_processes(state, record)
    if record is not None and record.addresses is not None:
        sandbox.remove_link(state, record.addresses)
        cgroups.remove(record.addresses.group)
    # The files of a mount that is still there would be somebody else's.
    until(lambda: not mounts_below(state), f"waiting for the mounts in {state}", seconds=20)
    shutil.rmtree(state)
    return True


def _refuse_foreign_folder(state: Path) -> None:
    """Raise ClusterError for a folder with something in it, but no record: it is not ours to remove."""
    if any(state.iterdir()):
        raise ClusterError(f"{state} has no {FILE}: it is not a cluster's folder and stays as it is")


def _end_processes(state: Path, record: Record | None) -> None:
    """End the processes of a control plane one by one; those of a node all at once, by their first one.

    Nobody asks them to finish something first: what they keep is removed.
    """
    if record is not None and record.init is not None:
        end(record.init, grace=0)
    elif record is not None:
        for process in reversed(record.processes.values()):
            end(process, grace=0)
    # What an order had started when it died, before it could write it down.
    for process in marked(state):
        end(process, grace=0)
