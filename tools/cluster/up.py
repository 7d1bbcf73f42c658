"""Bring a cluster up.

    control plane   etcd → API server → (it is ready) → controllers, scheduler → (the first service account is there)
    node            namespaces, bridge → containerd, etcd → API server → kubelet, kube-proxy, CoreDNS → (node is Ready)

In: the level and a state folder. Out: a complete record, and `kubeconfig` in the folder. What is up already is left
alone; what an order before left half-way is taken down first.
"""

import contextlib
import socket
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from tools.cluster import cgroups, images, kubeconfig, leftovers, needs, node, pki, programs, sandbox
from tools.cluster.addresses import API_PORT, ETCD_PORTS, LOOPBACK, NODE_NAME, SLOTS, Addresses
from tools.cluster.api import Api
from tools.cluster.down import lock_file, take_down
from tools.cluster.errors import ClusterError
from tools.cluster.parts import dead, known, log_of, start_part
from tools.cluster.places import Places, inside
from tools.cluster.processes import environment
from tools.cluster.record import CONTROL_PLANE, NODE, Record, read, write
from tools.cluster.waiting import until

from sendonce_cli.kernel_lock import held

_READY = 90.0


def slots_lock() -> Path:
    """Return the file whose holder alone gives slots out."""
    return Path(tempfile.gettempdir()) / "sendonce-slots.lock"


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on; all of them are held while they are chosen."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [each.getsockname()[1] for each in sockets]


def is_up(state: Path) -> bool:
    """Return whether the cluster in a folder is complete, alive and answers."""
    record = read(state)
    if record is None or not record.complete or dead(state):
        return False
    return api(state).is_ready()


def api(state: Path) -> Api:
    """Return the API server of the cluster in a folder."""
    record = known(state)
    return Api(Places(state, Path(record.programs)), record.host, record.port)


def up(state: Path, *, control_plane: bool, folder: Path | None = None) -> bool:
    """Bring a cluster up and return True, or return False if it is up already.

    `folder` has programs that somebody else built (envtest's); without it they are built here.
    Raises MissingPartError before anything is started, and ClusterError when a part does not come up.
    """
    level = CONTROL_PLANE if control_plane else NODE
    if not is_up(state):
        needs.check(folder, control_plane=control_plane)
    with held(lock_file(state)):
        if is_up(state):
            _refuse_another(state, level)
            return False
        take_down(state)
        wanted = programs.CONTROL_PLANE if control_plane else programs.CONTROL_PLANE + programs.NODE
        _start(state, folder or programs.build(wanted), level)
        return True


def _refuse_another(state: Path, level: str) -> None:
    running = known(state).level
    if running != level:
        raise ClusterError(
            f"a {running} is up in {state}, not a {level}: take it down first, or choose another --state"
        )


def _start(state: Path, folder: Path, level: str) -> None:
    """Start all parts of a level."""
    if level == NODE:
        _make_room(state, folder)
    else:
        port, client, peer = free_ports(3)
        _begin(state, Record(level, port, (client, peer), str(folder)))
    _start_control_plane(state, folder)
    if level == NODE:
        _start_node(state)
    write(state, replace(known(state), complete=True))


def _begin(state: Path, record: Record) -> None:
    """Write the record of a new cluster, then its credentials."""
    write(state, record)
    places, at = Places(state, Path(record.programs)), record.addresses
    places.logs.mkdir()
    pod_side = () if at is None else (at.gateway, at.api_service)
    pki.make(places.pki, server=(record.host, LOOPBACK, *pod_side), kubelet=pod_side or (LOOPBACK,))
    kubeconfig.write(places, f"https://{record.host}:{record.port}")


def _make_room(state: Path, folder: Path) -> None:
    """Make the namespaces of a node in a free slot, and start containerd in there."""
    # Until its link is there, a slot looks free to another order.
    with held(slots_lock()):
        at = _free_slot()
        _begin(state, Record(NODE, API_PORT, ETCD_PORTS, str(folder), slot=at.slot))
        init = sandbox.create(state, log_of(state, "namespaces"))
        write(state, replace(known(state), init=init))
        sandbox.connect(init, state, at)
    for name, text in node.files(inside(), at).items():
        (state / name).parent.mkdir(exist_ok=True)
        (state / name).write_text(text, encoding="utf-8")
    sandbox.furnish(init, state, folder)
    cgroups.make(at.group)
    start_part(state, "containerd")


def _free_slot() -> Addresses:
    taken = leftovers.slots()
    free = [Addresses(slot) for slot in SLOTS if Addresses(slot) not in taken]
    if not free:
        raise ClusterError(f"{len(taken)} nodes are up on this machine, and there is room for no more: take one down")
    return free[0]


def _start_control_plane(state: Path, folder: Path) -> None:
    """Start etcd and the API server, then what works with it. Envtest's folder has no controllers and no scheduler."""
    start_part(state, "etcd")
    start_part(state, "kube-apiserver")
    server = api(state)
    until(server.is_ready, "starting the API server", seconds=_READY, lost=lambda: dead(state))
    for name in ("kube-controller-manager", "kube-scheduler"):
        if (folder / name).exists():
            start_part(state, name)
    if (folder / "kube-controller-manager").exists():
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        until(lambda: server.has(account), "starting the controllers", seconds=_READY, lost=lambda: dead(state))


def _start_node(state: Path) -> None:
    """Start what runs Pods, and wait until the node is ready for them."""
    _load_pause_image(state)
    for name in ("kubelet", "kube-proxy", "coredns"):
        start_part(state, name)
    server = api(state)
    ready = partial(server.node_is_ready, NODE_NAME)
    until(ready, "waiting for the node", seconds=_READY, lost=lambda: dead(state))


def _load_pause_image(state: Path) -> None:
    init = known(state).init
    if init is None:
        raise ClusterError(f"{state} has no node: take it down, then `make cluster`")
    archive = state / "pause.tar"
    archive.write_bytes(images.pause_image(Path(needs.find("catatonit") or "")))
    answers = ["ctr", f"--address={node.CONTAINERD_SOCKET}", "version"]

    def containerd_answers() -> bool:
        with contextlib.suppress(ClusterError):
            return bool(sandbox.run(init, answers, environment(state)))
        return False

    until(containerd_answers, "starting containerd", seconds=_READY, lost=lambda: dead(state))
    images.load(init, state, archive)
