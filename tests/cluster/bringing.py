"""Bring up what a level's tests run on, and take it down after them.

In: a choice. Out: a Cluster while the tests of one process run. A cluster of the tests' own is started once per test
process: a test may take its API server or its kubelet away, or install other CRDs, and no test of another process
notices. That costs 10 seconds and 600 MB per process; a shared one would cost every such test a lock that all wait for.
Which tests are in one process, and when its cluster goes, is in `tests/turns.py`.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.cluster.levels import CONTROL_PLANE, Choice, Source
from tests.cluster.reach import Cluster, kubectl_program
from tools.cluster import kind, places, programs
from tools.cluster.down import down
from tools.cluster.errors import ClusterError
from tools.cluster.kubeconfig import CONTEXT, path_for_people
from tools.cluster.needs import find
from tools.cluster.parts import known
from tools.cluster.processes import Process, identify, is_alive
from tools.cluster.up import up

from sendonce_cli.kernel_lock import held

_FOLDERS = "sendonce-kubernetes"


def _folder(name: str) -> Path:
    """Return a folder whose name says which process it belongs to."""
    owner = identify(os.getpid())
    assert owner is not None
    return Path(tempfile.gettempdir()) / f"{_FOLDERS}-{name}-{owner.pid}-{owner.started}"


def remove_orphans() -> None:
    """Take down what test processes left behind that were killed; two at once would trip over each other."""
    with held(Path(tempfile.gettempdir()) / "sendonce-orphans.lock"):
        _remove_orphans()


def _remove_orphans() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDERS}-*-*-*"):
        *_, pid, started = folder.name.split("-")
        if is_alive(Process(int(pid), started)):
            continue
        try:
            down(folder)
        except ClusterError:  # it was killed while it went down, and its record was gone already
            shutil.rmtree(folder)


@contextmanager
def own(level: str, description: str, assets: Path | None = None, name: str = "") -> Iterator[Cluster]:
    """Run a cluster of this process's own; a process that has several gives them names."""
    remove_orphans()
    state = _folder(level + name)
    try:
        up(state, control_plane=level == CONTROL_PLANE, folder=assets)
        at = known(state).addresses
        yield Cluster(
            description=description,
            kubeconfig=path_for_people(state),
            context=CONTEXT,
            state=state,
            has_controllers=((assets or places.programs()) / "kube-controller-manager").exists(),
            host=at.host if at else "127.0.0.1",
        )
    finally:
        down(state)


def extract(context: str, target: Path) -> Path:
    """Write the named context alone into a kubeconfig; RuntimeError if nobody has such a context."""
    source = os.environ["SENDONCE_TEST_KUBECONFIG"]
    command = [kubectl_program(), "config", "view", "--minify", "--flatten", f"--context={context}"]
    environment = {**os.environ, "KUBECONFIG": source}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or context not in done.stdout:
        raise RuntimeError(f"the context {context} can't be read from {source}: {done.stderr.strip()}")
    target.touch(mode=0o600)
    target.write_text(done.stdout, encoding="utf-8")
    return target


@contextmanager
def named(context: str, description: str) -> Iterator[Cluster]:
    """Use the cluster of a context that somebody named on purpose."""
    with tempfile.TemporaryDirectory() as folder:
        yield Cluster(description, extract(context, Path(folder) / "kubeconfig"), context)


@contextmanager
def in_kind(description: str) -> Iterator[Cluster]:
    """Use the kind cluster; it is made if need be, and stays: several test processes share it."""
    yield Cluster(description, kind.up(), kind.CONTEXT, host=kind.host())


def open_cluster(level: str, choice: Choice, context: str, assets: str) -> AbstractContextManager[Cluster]:
    """Return the cluster of a choice, to be used in a with block."""
    ways: dict[Source | None, Callable[[], AbstractContextManager[Cluster]]] = {
        Source.CONTEXT: lambda: named(context, choice.description),
        Source.ASSETS: lambda: own(level, choice.description, Path(assets)),
        Source.KIND: lambda: in_kind(choice.description),
        Source.OWN: lambda: own(level, choice.description),
    }
    return ways[choice.source]()


def unbuilt(*, control_plane: bool) -> str:
    """Return what to do when the programs are not built: a test does not build for ten minutes."""
    wanted = programs.CONTROL_PLANE if control_plane else programs.CONTROL_PLANE + programs.NODE
    missing = programs.missing(wanted, places.programs())
    return f"{', '.join(missing)} are not built: `make cluster-programs` builds them once" if missing else ""


def without_kstatus() -> str:
    """Return why objects can't be judged by kstatus' own library here; empty when they can."""
    if not programs.missing((programs.KSTATUS,), places.programs()):
        return ""
    cure = "" if find("go") else ", with Go from go.dev/dl"
    return f"{programs.KSTATUS} is not built: `make cluster-programs` builds it once{cure}"
