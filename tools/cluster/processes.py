"""Start a process that outlives this one, recognise it later, and end it and no other.

In: a command line. Out: a Process: an id, and the moment of its start. A process id is given to somebody else after its
owner's end; id and start time together are not. Each process carries the folder of its cluster in its environment, by
which one is found that was started by an order that died before it could write anything down.
"""

import os
import select
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.cluster.waiting import until

MARK = "SENDONCE_CLUSTER_STATE"

# proc(5), /proc/pid/stat, counted behind the command's closing bracket
_STATE_FIELD = 0
_PARENT_FIELD = 1
_START_FIELD = 19


@dataclass(frozen=True)
class Process:
    """A process of ours: its id, and its start in clock ticks since boot."""

    pid: int
    started: str


def _stat(pid: int) -> list[str]:
    """Return the fields behind the command of /proc/pid/stat; none if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()


def identify(pid: int) -> Process | None:
    """Return the process that has an id now; None if none has, or it has ended and waits for its parent."""
    fields = _stat(pid)
    if not fields or fields[_STATE_FIELD] in {"Z", "X"}:
        return None
    return Process(pid, fields[_START_FIELD])


def is_alive(process: Process) -> bool:
    """Return whether this very process still runs."""
    return identify(process.pid) == process


def environment(state: Path) -> dict[str, str]:
    """Return the environment of a cluster's programs: no proxies, no credentials, the administrator's programs too.

    They are Go: with GOGC=400 they collect garbage a quarter as often, as long as they have less than a gibibyte. An
    idle API server takes 0.04 of a core so, and 0.07 else; 400 MiB of memory, and 280 else (go.dev/doc/gc-guide).
    """
    path = f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/local/sbin:/usr/sbin:/sbin"
    collector = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}
    return {"PATH": path, "HOME": str(state), "LANG": "C.UTF-8", MARK: str(state), **collector}


def start(command: Sequence[str], log: Path, env: Mapping[str, str]) -> Process:
    """Start a process in a session of its own whose output goes to the end of `log`."""
    actions = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    )
    pid = os.posix_spawnp(command[0], [*command], env, file_actions=actions, setsid=True)
    # The kernel lets us go on before the new program's environment can be read, and by that it is recognised.
    until(lambda: _environment(pid) != [b""] or identify(pid) is None, f"starting {command[0]}", seconds=30)
    return identify(pid) or Process(pid, "ended at once")


def children(pid: int) -> list[int]:
    """Return the ids of a process's children."""
    return [child for child in _all_pids() if (fields := _stat(child)) and fields[_PARENT_FIELD] == str(pid)]


def _all_pids() -> Iterator[int]:
    return (int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit())


def marked(state: Path) -> list[Process]:
    """Return the living processes that carry the mark of a cluster."""
    wanted = f"{MARK}={state}".encode()
    candidates = [identify(pid) for pid in _all_pids() if wanted in _environment(pid)]
    return [process for process in candidates if process]


def _environment(pid: int) -> list[bytes]:
    """Return a process's environment; empty if there is no such process, or it is somebody else's."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _wait(handle: int, seconds: float) -> bool:
    """Return whether a process ended within `seconds`. A handle of a process becomes readable at its end."""
    return bool(select.select([handle], [], [], seconds)[0])


def end(process: Process, *, grace: float) -> None:
    """End a process if it is still this one: ask, wait, insist. Others with its id are left alone."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        # From here on the handle stays with the process, whatever happens to its id.
        if is_alive(process):
            _signal(handle, signal.SIGTERM if grace else signal.SIGKILL)
            if not _wait(handle, grace or 10):
                _signal(handle, signal.SIGKILL)
                _wait(handle, 10)
    finally:
        os.close(handle)
    _reap(process.pid)


def _signal(handle: int, number: signal.Signals) -> None:
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return


def _reap(pid: int) -> None:
    """Take the exit code, if the process was started by this one."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
