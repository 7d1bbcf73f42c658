"""`python -m tools.cluster ORDER`: a genuine Kubernetes on this machine.

In: an order and its options. Out: a cluster, or none, and lines for a person. Exit code 1 when an order can't be
carried out, with the reason and the fix; `status` exits with 3 when nothing is up.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tools.chart import helm
from tools.cluster import base_image, engines, images, kind, leftovers, needs, product, product_images, programs
from tools.cluster.down import down
from tools.cluster.errors import ClusterError
from tools.cluster.kubeconfig import CONTEXT, path_for_people
from tools.cluster.parts import known, start_part, stop_part
from tools.cluster.places import KUBERNETES, default_state
from tools.cluster.places import programs as program_folder
from tools.cluster.processes import is_alive
from tools.cluster.record import read
from tools.cluster.up import is_up, up

NOTHING_UP = 3


def _state(options: argparse.Namespace) -> Path:
    chosen: Path | None = options.state
    return chosen.resolve() if chosen else default_state(control_plane=options.control_plane)


def _up(options: argparse.Namespace) -> int:
    state = _state(options)
    started = up(state, control_plane=options.control_plane)
    what = "control plane" if options.control_plane else "node"
    print(f"The {what} of Kubernetes {KUBERNETES} is up{'' if started else ' already'}. Its context is {CONTEXT}:")
    print(f"  export KUBECONFIG={path_for_people(state)}")
    print(f"  kubectl get namespaces      ({program_folder()}/kubectl has the same version)")
    return _install_there(state) if options.product else 0


def _install_there(state: Path) -> int:
    init = known(state).init
    if init is None:
        raise ClusterError("--product: a control plane runs no Pods; leave --control-plane out")
    kubeconfig = path_for_people(state)
    product.install(kubeconfig, CONTEXT, lambda archive: images.load(init, state, archive), own_postgres=True)
    return _next()


def _next() -> int:
    print(f"Sendonce is installed. Prove it:\n  {helm.program()} test {product.RELEASE} -n {product.NAMESPACE}")
    return 0


def _down(options: argparse.Namespace) -> int:
    state = _state(options)
    record = read(state)
    there_was = down(state)
    rest = list(leftovers.all_of(state, record.addresses if record else None))
    if rest:
        raise ClusterError("\n  ".join(["something is left:", *rest]))
    print("The cluster is down, and nothing of it is left." if there_was else "No cluster was up.")
    return 0


def _status(options: argparse.Namespace) -> int:
    state = _state(options)
    record = read(state)
    if record is None:
        print(f"No cluster is up in {state}.")
        return NOTHING_UP
    print(f"{record.level} in {state}: {'up' if is_up(state) else 'NOT up'}, https://{record.host}:{record.port}")
    for name, process in record.processes.items():
        print(f"  {name:<24} {process.pid:>8} {'runs' if is_alive(process) else 'has ended'}")
    return 0 if is_up(state) else 1


def _load(options: argparse.Namespace) -> int:
    state = _state(options)
    init = known(state).init
    if init is None:
        raise ClusterError(f"the cluster in {state} is a control plane without a node: no image can be loaded there")
    for archive in options.archives:
        print("\n".join(images.load(init, state, archive)))
    return 0


def _part(options: argparse.Namespace) -> int:
    order: Callable[[Path, str], object] = start_part if options.order == "start" else stop_part
    order(_state(options), options.part)
    return 0


def _build(options: argparse.Namespace) -> int:
    if options.for_tests:
        return _build_for_tests()
    wanted = programs.CONTROL_PLANE if options.control_plane else programs.CONTROL_PLANE + programs.NODE
    print(programs.build(wanted))
    return 0


def _build_for_tests() -> int:
    """Build what the tests can use here. What can't be is no error: they skip a level and say why."""
    _build_kstatus()
    if os.environ.get("SENDONCE_TEST_KUBE_CONTEXT") or not kind.missing():
        return 0
    machine = needs.this_machine(program_folder())
    for names, control_plane in ((programs.CONTROL_PLANE, True), (programs.NODE, False)):
        if not needs.complaints(machine, control_plane=control_plane):
            programs.build(names)
            if not control_plane and not [*base_image.complaints(), *engines.complaints()]:
                _images(argparse.Namespace())
    return 0


def _build_kstatus() -> None:
    if needs.find("go"):
        try:
            programs.build((programs.KSTATUS,))
        except ClusterError as error:
            print(error, file=sys.stderr)


def _packages(_options: argparse.Namespace) -> int:
    machine = needs.this_machine(program_folder())
    node = needs.absent_packages(machine, control_plane=False)
    print(" ".join([*node, *needs.absent_image_packages(machine), *needs.absent_test_packages(machine)]))
    return 0


def _base_image(_options: argparse.Namespace) -> int:
    print(f"{base_image.NAME} {base_image.build()}")
    return 0


def _images(_options: argparse.Namespace) -> int:
    for program in product_images.PROGRAMS:
        built = product_images.build(program, os.environ)
        print(f"{built.name} {built.archive}")
    return 0


def _kind(options: argparse.Namespace) -> int:
    if options.down:
        kind.down()
        return 0
    kubeconfig = kind.up()
    print(f"kind is up. Its context is {kind.CONTEXT}:\n  export KUBECONFIG={kubeconfig}")
    if not options.product:
        return 0
    product.install(kubeconfig, kind.CONTEXT, kind.load, own_postgres=False)
    return _next()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.cluster", description="A genuine Kubernetes on this machine")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--control-plane", action="store_true", help="without a node: no Pods, no root, free ports")
    shared.add_argument("--state", type=Path, help="the folder of the cluster's state")
    orders = parser.add_subparsers(dest="order", required=True)
    up_order = orders.add_parser("up", parents=[shared], help="bring a cluster up")
    up_order.set_defaults(run=_up)
    orders.add_parser("down", parents=[shared], help="take it down; nothing is left").set_defaults(run=_down)
    orders.add_parser("status", parents=[shared], help="what runs").set_defaults(run=_status)
    build = orders.add_parser("build", parents=[shared], help="only build the programs")
    build.add_argument("--for-tests", action="store_true", help="what the tests can use here; if nothing, no error")
    build.set_defaults(run=_build)
    orders.add_parser("packages", help="print which packages of Debian are lacking").set_defaults(run=_packages)
    for name in ("start", "stop"):
        part = orders.add_parser(name, parents=[shared], help=f"{name} one part, as kubelet or kube-apiserver")
        part.add_argument("part")
        part.set_defaults(run=_part)
    load = orders.add_parser("load", parents=[shared], help="give image archives to the node")
    load.add_argument("archives", nargs="+", type=Path, metavar="IMAGE.tar")
    load.set_defaults(run=_load)
    orders.add_parser("base-image", help="make the base image of local builds").set_defaults(run=_base_image)
    orders.add_parser("images", help="build the product's images").set_defaults(run=_images)
    engine = orders.add_parser("kind", help="the same with kind")
    engine.add_argument("--down", action="store_true", help="delete it")
    engine.set_defaults(run=_kind)
    for order in (up_order, engine):
        order.add_argument("--product", action="store_true", help="and install the chart there, with a PostgreSQL")
    return parser


def main(arguments: list[str]) -> int:
    """Carry out an order and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except ClusterError as error:
        print(error, file=sys.stderr)
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
