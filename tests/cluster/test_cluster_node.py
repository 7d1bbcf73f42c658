"""A node: Pods run as on any cluster, and after its end nothing is left on the machine."""

import contextlib
import http.client
import http.server
import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.cluster.manifests import as_list, namespace, web_deployment, web_service
from tests.cluster.reach import Cluster, kubectl_program
from tools.cluster import base_image, cgroups, leftovers, needs, parts
from tools.cluster.addresses import Addresses
from tools.cluster.down import down
from tools.cluster.kubeconfig import CONTEXT, path_for_people
from tools.cluster.processes import Process, identify, is_alive, marked
from tools.cluster.up import is_up, slots_lock, up
from tools.cluster.waiting import until

from sendonce_cli.kernel_lock import held

SPACE = f"harness-{uuid.uuid4().hex[:8]}"
FETCH = "import sys, urllib.request as r; sys.stdout.write(r.urlopen(sys.argv[1], timeout=10).read().decode())"


@pytest.fixture(scope="module")
def web(node: Cluster, base: str) -> Iterator[Cluster]:
    """A cluster on which the Deployment `web` is ready."""
    node.kubectl("apply", "-f-", stdin=as_list(namespace(SPACE)))
    node.kubectl("-n", SPACE, "apply", "-f-", stdin=as_list(web_deployment("web", base), web_service("web")))
    node.kubectl("-n", SPACE, "rollout", "status", "deployment/web", "--timeout=90s")
    yield node
    # Nobody needs its name again.
    node.kubectl("delete", "namespace", SPACE, "--wait=false")


def fetch_in_pod(cluster: Cluster, url: str) -> str:
    return cluster.kubectl("-n", SPACE, "exec", "deployment/web", "--", "python3", "-c", FETCH, url, check=False)


@pytest.mark.parametrize("name", ["web", "web.{space}", "web.{space}.svc.cluster.local"])
def test_a_pod_finds_a_service_by_its_name(web: Cluster, name: str) -> None:
    # A Service leads to a ready Pod some moments after the Pod is ready, here as anywhere.
    url = f"http://{name.format(space=SPACE)}/"
    until(lambda: fetch_in_pod(web, url) == "hello", f"{name} is found", seconds=30)


def test_this_machine_reaches_a_service(web: Cluster) -> None:
    if web.state is None:
        pytest.skip("the addresses of Services lead here on a node of the tests' own only")
    address = web.kubectl("-n", SPACE, "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    connection = http.client.HTTPConnection(address, 80, timeout=10)
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"hello"
    connection.close()


class _Greeter(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"hello {self.client_address[0]}".encode())

    def log_message(self, *_: object) -> None:
        return


def test_a_pod_reaches_what_listens_on_this_machine_from_its_own_address(web: Cluster) -> None:
    if web.host is None:
        pytest.skip(f"not known where Pods of {web.description} reach this machine")
    if web.state is None:
        pytest.skip("elsewhere Pods reach this machine from their node's address")
    with http.server.HTTPServer((web.host, 0), _Greeter) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        answer = fetch_in_pod(web, f"http://{web.host}:{server.server_port}/")
        thread.join()
    pod = web.kubectl("-n", SPACE, "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].status.podIP}")
    assert answer == f"hello {pod}"


def test_the_log_of_a_pod_is_read_with_kubectl(web: Cluster) -> None:
    assert "serving" in web.kubectl("-n", SPACE, "logs", "deployment/web")


def test_a_deleted_pod_gets_a_sigterm_and_is_replaced(web: Cluster) -> None:
    pod = web.kubectl("-n", SPACE, "get", "pods", "-l", "app=web", "-o", "name").split()[0]
    command = [kubectl_program(), "-n", SPACE, "logs", "--follow", pod]
    with subprocess.Popen(command, env=web.environment(), stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        until(lambda: "serving" in (following.stdout.readline() if following.stdout else ""), "the log", seconds=20)
        web.kubectl("-n", SPACE, "delete", pod)
        assert "asked to stop" in following.stdout.read()
    web.kubectl("-n", SPACE, "rollout", "status", "deployment/web", "--timeout=60s")


def test_a_pod_that_is_not_restricted_is_refused(web: Cluster, base: str) -> None:
    command = ["-n", SPACE, "run", "free", f"--image={base}", "--dry-run=server"]
    with pytest.raises(AssertionError, match="violates PodSecurity"):
        web.kubectl(*command)


def test_the_kubelet_can_be_away_for_a_while(web: Cluster) -> None:
    web.stop("kubelet", grace=0)
    web.kubectl("-n", SPACE, "scale", "deployment/web", "--replicas=2")
    web.start("kubelet")
    web.kubectl("-n", SPACE, "rollout", "status", "deployment/web", "--timeout=90s")


def _ask(*command: str) -> str:
    program = needs.find(command[0])
    if program is None:
        return ""
    return subprocess.run([program, *command[1:]], capture_output=True, text=True, check=True).stdout


def network_namespaces(pids: Iterable[int]) -> set[str]:
    found = set()
    for pid in pids:
        # It may have ended, or be one that not even root may ask.
        with contextlib.suppress(OSError):
            found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
    return found


def of_the_machine() -> list[str]:
    """What a kubelet, containerd and CNI change on a machine that is theirs."""
    settings = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")
    folders = (
        "/var/lib/kubelet",
        "/var/lib/containerd",
        "/var/lib/cni",
        "/var/log/pods",
        "/run/containerd",
        "/run/netns",
    )
    kernel = [f"{name} {Path('/proc/sys', name).read_text('ascii')}" for name in settings]
    return kernel + [folder for folder in folders if Path(folder).exists()] + _ask("nft", "list", "tables").splitlines()


# Before any node of these tests is up: the first one must not change it either.
UNTOUCHED = of_the_machine()


def traces(state: Path, at: Addresses) -> list[str]:
    """What there is of one node, found by other ways than the harness's own."""
    groups = [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/{at.group}")]
    routes = [line for line in _ask("ip", "route").splitlines() if at.host_link in line or at.node in line]
    links = [line for line in _ask("ip", "-brief", "link").splitlines() if at.host_link in line]
    return groups + routes + links + [line for line in _ask("ps", "-eo", "pid,args").splitlines() if str(state) in line]


@pytest.mark.usefixtures("node")
def test_down_leaves_nothing_of_a_node_with_pods(tmp_path: Path, node: Cluster) -> None:
    if node.state is None:
        pytest.skip("only a node of the tests' own is taken down by them")
    state = tmp_path / "second"
    try:
        up(state, control_plane=False)
        at = parts.known(state).addresses
        assert at is not None
        second = Cluster("a second node", path_for_people(state), CONTEXT, state)
        second.load(base_image.build())
        second.kubectl("apply", "-f-", stdin=as_list(web_deployment("web", base_image.NAME)))
        second.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
        spaces = network_namespaces(process.pid for process in processes_of_pods(at))
        assert spaces, "the Pod's network is seen where its rest is looked for"
        assert len(traces(state, at)) > 10, "the node is seen where its rest is looked for"
    except BaseException:
        down(state)
        raise
    with held(slots_lock()):  # another node of this run may want the slot at once
        down(state)
        assert traces(state, at) == []
        assert of_the_machine() == UNTOUCHED
        assert not spaces & network_namespaces(int(path.name) for path in Path("/proc").glob("[0-9]*"))
        assert list(leftovers.all_of(state, at)) == []


def processes_of_pods(at: Addresses) -> list[Process]:
    files = [file for folder in cgroups.present(at.group) for file in folder.rglob("cgroup.procs")]
    pids = {int(pid) for file in files for pid in file.read_text("ascii").split()}
    return [process for pid in pids if (process := identify(pid))]


@pytest.mark.usefixtures("node")
def test_a_node_that_crashed_half_way_is_taken_down_and_started_anew(tmp_path: Path, node: Cluster) -> None:
    if node.state is None:
        pytest.skip("only a node of the tests' own is taken down by them")
    state = tmp_path / "crashed"
    try:
        up(state, control_plane=False)
        record = parts.known(state)
        assert record.init is not None
        os.kill(record.init.pid, signal.SIGKILL)
        until(lambda: not marked(state), "the end of the first process ends all", seconds=20)
        assert not any(is_alive(process) for process in record.processes.values())
        assert not is_up(state)
        assert up(state, control_plane=False)
        assert is_up(state)
    finally:
        down(state)
    assert list(leftovers.all_of(state, record.addresses)) == []
