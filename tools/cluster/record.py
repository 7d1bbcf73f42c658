"""What is remembered about a cluster between two orders.

In and out: `cluster.json` in the cluster's state folder, written before anything else happens there and after each
start, so that whatever was started can be ended.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tools.cluster.addresses import LOOPBACK, Addresses
from tools.cluster.errors import ClusterError
from tools.cluster.processes import Process

FILE = "cluster.json"
CONTROL_PLANE = "control plane"
NODE = "node"


@dataclass(frozen=True)
class Record:
    """A cluster: its level, where its API server and etcd listen, and its processes by name in order of their start."""

    level: str
    port: int
    etcd: tuple[int, int]
    # The folder of the programs, from outside the node.
    programs: str
    # Which of the machine's nodes this is; a control plane is none.
    slot: int | None = None
    processes: dict[str, Process] = field(default_factory=dict)
    # The process in whose namespaces the node lives; its end is the end of all of them.
    init: Process | None = None
    complete: bool = False

    @property
    def addresses(self) -> Addresses | None:
        """The node's addresses; None for a control plane."""
        return None if self.slot is None else Addresses(self.slot)

    @property
    def host(self) -> str:
        """The address at which the API server is asked."""
        return LOOPBACK if self.addresses is None else self.addresses.node

    def with_process(self, name: str, process: Process) -> "Record":
        """Return the record with one process more, or started anew."""
        return replace(self, processes={**self.processes, name: process})

    def without(self, name: str) -> "Record":
        """Return the record without a process."""
        return replace(self, processes={key: value for key, value in self.processes.items() if key != name})


def read(state: Path) -> Record | None:
    """Return what is known about the cluster in a folder; None if there is none.

    Raises ClusterError for a file that is not ours.
    """
    try:
        document = json.loads((state / FILE).read_text(encoding="utf-8"))
        return _parse(document)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"{state / FILE} can't be read ({error}): end its processes by hand and remove it"
        ) from error


def _parse(document: dict[str, Any]) -> Record:
    document["etcd"] = tuple(document["etcd"])
    document["processes"] = {name: Process(**process) for name, process in document["processes"].items()}
    document["init"] = Process(**document["init"]) if document["init"] else None
    return Record(**document)


def write(state: Path, record: Record) -> None:
    """Write a record in one step: a reader, or a crash, sees the old one or the new one."""
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = state / f"{FILE}.part"
    scratch.write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
    scratch.replace(state / FILE)
