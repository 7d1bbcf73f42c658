"""The namespaces that a node lives in: network, mounts, processes.

In: the folders to show inside. Out: the first process of the new namespaces. Its end ends every process in there, and
with them go their mounts, interfaces and packet filter tables: nothing has to be found and undone one by one.
"""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tools.cluster.addresses import BRIDGE, LINK_PREFIX, NODE_LINK, POD_PREFIX, Addresses
from tools.cluster.errors import ClusterError
from tools.cluster.needs import find
from tools.cluster.places import INSIDE_PROGRAMS, INSIDE_STATE
from tools.cluster.processes import Process, children, environment, identify, start
from tools.cluster.waiting import until

# What no part of the node may change, as it is the whole machine's.
_READ_ONLY = ("/proc/sys/kernel", "/proc/sys/vm")

# What the kubelet insists on (setupKernelTunables): it finds files that say so, and changes nothing.
_TUNABLES = {
    "kernel/keys/root_maxbytes": 25_000_000,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
}

# The node's own versions of folders whose names are fixed in containerd, the kubelet and CNI plugins.
_OWN = ("/var/lib", "/var/log")


def prefix(init: Process) -> list[str]:
    """Return what to put before a command so that it runs in the namespaces."""
    return ["nsenter", f"--target={init.pid}", "--net", "--mount", "--pid", "--wd=/", "--"]


def run(init: Process, command: Sequence[str], env: Mapping[str, str], stdin: int = subprocess.DEVNULL) -> str:
    """Run a command in the namespaces to its end and return what it printed; raise ClusterError if it failed."""
    full = [*prefix(init), *command]
    done = subprocess.run(full, env=dict(env), check=False, capture_output=True, text=True, stdin=stdin)
    if done.returncode:
        raise ClusterError(f"`{' '.join(command)}` failed in the node: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def only_child(parent: Process, what: str) -> Process:
    """Return the process that a wrapper has started, as seen from outside; raise ClusterError if it ends instead."""
    until(
        lambda: bool(children(parent.pid)),
        f"starting {what}",
        seconds=20,
        lost=lambda: "" if identify(parent.pid) else "it ended at once",
    )
    child = identify(children(parent.pid)[0])
    if child is None:
        raise ClusterError(f"{what} ended at once")
    return child


def create(state: Path, log: Path) -> Process:
    """Make the namespaces and return their first process, which only waits and takes exit codes."""
    flags = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--propagation=private"]
    env = environment(state)
    wrapper = start(["unshare", *flags, "--", find("catatonit") or "catatonit", "-P"], log, env)
    return only_child(wrapper, "the node's namespaces")


def _mounts(state: Path, programs: Path) -> Iterable[list[str]]:
    """Yield the commands that give the node its own /proc, /run, /var/lib and /var/log."""
    yield ["mount", "--make-rshared", "/"]
    yield ["mount", "-t", "proc", "proc", "/proc"]
    for folder in _READ_ONLY:
        yield ["mount", "--bind", folder, folder]
        yield ["mount", "-o", "remount,bind,ro", folder]
    yield ["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"]
    yield ["mkdir", str(INSIDE_STATE), str(INSIDE_PROGRAMS)]
    yield ["mount", "--bind", str(state), str(INSIDE_STATE)]
    yield ["mount", "--bind", str(programs), str(INSIDE_PROGRAMS)]
    for folder in _OWN:
        yield ["mount", "--bind", str(INSIDE_STATE) + folder, folder]
    for name in _TUNABLES:
        yield ["mount", "--bind", str(INSIDE_STATE / "sysctl" / name), f"/proc/sys/{name}"]


def _network(at: Addresses) -> Iterable[list[str]]:
    """Yield the commands that set up the node's end of the link, and the bridge with its address."""
    yield ["ip", "link", "set", "lo", "up"]
    yield ["ip", "addr", "add", f"{at.node}/{LINK_PREFIX}", "dev", NODE_LINK]
    yield ["ip", "link", "set", NODE_LINK, "up"]
    yield ["ip", "link", "add", BRIDGE, "type", "bridge"]
    yield ["ip", "addr", "add", f"{at.gateway}/{POD_PREFIX}", "dev", BRIDGE]
    yield ["ip", "link", "set", BRIDGE, "up"]
    yield ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]


def _link(init: Process, at: Addresses) -> Iterable[list[str]]:
    """Yield the commands that set up this machine's end of the link, with routes to Pods and Services."""
    peer = ["peer", "name", NODE_LINK, "netns", str(init.pid)]
    yield ["ip", "link", "add", at.host_link, "type", "veth", *peer]
    yield ["ip", "addr", "add", f"{at.host}/{LINK_PREFIX}", "dev", at.host_link]
    yield ["ip", "link", "set", at.host_link, "up"]


def _routes(at: Addresses) -> Iterable[list[str]]:
    for network in (at.pods, at.services):
        yield ["ip", "route", "add", network, "via", at.node, "dev", at.host_link]


def _run_here(command: list[str], env: Mapping[str, str]) -> None:
    done = subprocess.run(command, env=dict(env), check=False, capture_output=True, text=True)
    if done.returncode:
        raise ClusterError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")


def connect(init: Process, state: Path, at: Addresses) -> None:
    """Link new namespaces to this machine, and set up their network."""
    env = environment(state)
    for command in _link(init, at):
        _run_here(command, env)
    for command in _network(at):
        run(init, command, env)
    for command in _routes(at):
        _run_here(command, env)


def furnish(init: Process, state: Path, programs: Path) -> None:
    """Set up the mounts of new namespaces."""
    if state.is_relative_to("/run"):
        raise ClusterError(f"the state folder {state} is in /run, which a node replaces: choose another with --state")
    env = environment(state)
    for folder in _OWN:
        (state / folder[1:]).mkdir(parents=True)
    for name, value in _TUNABLES.items():
        (state / "sysctl" / name).parent.mkdir(parents=True, exist_ok=True)
        (state / "sysctl" / name).write_text(f"{value}\n", encoding="ascii")
    for command in _mounts(state, programs):
        run(init, command, env)


def remove_link(state: Path, at: Addresses) -> None:
    """Remove the link to the node: the kernel would too, but some time later."""
    if Path("/sys/class/net", at.host_link).exists():
        subprocess.run(["ip", "link", "delete", at.host_link], env=environment(state), check=False, capture_output=True)
        until(lambda: not Path("/sys/class/net", at.host_link).exists(), f"removing {at.host_link}", seconds=20)
