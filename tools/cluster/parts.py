"""Start and stop single parts of a cluster, by name.

In: a state folder. Out: the record with the part's process. A test that takes the API server or the kubelet away for a
while does it here; `up` starts all of them in turn.
"""

from pathlib import Path

from tools.cluster import control_plane, node, sandbox
from tools.cluster.errors import ClusterError
from tools.cluster.needs import find
from tools.cluster.places import Places, inside
from tools.cluster.processes import Process, end, environment, is_alive, start
from tools.cluster.record import NODE, Record, read, write

_GRACE = 10.0
_TAIL = 5


def _commands(state: Path, record: Record) -> dict[str, list[str]]:
    places = inside() if record.level == NODE else Places(state, Path(record.programs))
    own = Path(record.programs) / "etcd"
    etcd = str(places.programs / "etcd") if own.exists() else find("etcd") or "etcd"
    commands = control_plane.commands(places, record, etcd)
    return commands if record.addresses is None else commands | node.commands(places, record.addresses)


def known(state: Path) -> Record:
    """Return the record of a cluster; raise ClusterError if there is none."""
    record = read(state)
    if record is None:
        raise ClusterError(f"no cluster is up in {state}: `make cluster` starts one")
    return record


def log_of(state: Path, name: str) -> Path:
    """Return the file that a part prints to."""
    return state / "logs" / f"{name}.log"


def last_words(state: Path, name: str) -> str:
    """Return the end of what a part printed."""
    try:
        lines = log_of(state, name).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return "it printed nothing"
    return "\n    ".join(lines[-_TAIL:])


def start_part(state: Path, name: str) -> Record:
    """Start a part that does not run, and remember it."""
    record = known(state)
    command = _commands(state, record)[name]
    if record.init is None:
        process = start(command, log_of(state, name), environment(state))
    else:
        wrapper = start([*sandbox.prefix(record.init), *command], log_of(state, name), environment(state))
        process = sandbox.only_child(wrapper, name)
    record = record.with_process(name, process)
    write(state, record)
    return record


def stop_part(state: Path, name: str, *, grace: float = _GRACE) -> Record:
    """End a part and forget it. Without grace it is killed."""
    record = known(state)
    if name not in record.processes:
        raise ClusterError(f"{name} does not run; what runs: {', '.join(record.processes) or 'nothing'}")
    end(record.processes[name], grace=grace)
    record = record.without(name)
    write(state, record)
    return record


def process_of(state: Path, name: str) -> Process:
    """Return the process of a part that runs."""
    return known(state).processes[name]


def dead(state: Path) -> str:
    """Return what is wrong when a part has ended by itself, with its last words; nothing if all live."""
    for name, process in known(state).processes.items():
        if not is_alive(process):
            return f"{name} has ended. Its log, {log_of(state, name)}, ends with\n    {last_words(state, name)}"
    return ""
