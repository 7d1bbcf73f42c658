"""The harness itself, without a cluster: what is missing, which process is whose, and what it never touches."""

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.bringing import remove_orphans
from tools.cluster import base_image, cgroups, control_plane, images, kind, leftovers, node, programs
from tools.cluster.addresses import SLOTS, Addresses
from tools.cluster.down import down
from tools.cluster.errors import ClusterError, MissingPartError
from tools.cluster.needs import Machine, complaints
from tools.cluster.places import CLI_UTILS, COREDNS, KUBERNETES, MODULES, Places, inside
from tools.cluster.processes import Process, end, environment, identify, is_alive, marked, start
from tools.cluster.record import CONTROL_PLANE, NODE, Record, read, write
from tools.cluster.waiting import until

pytestmark = pytest.mark.wiring

ROOT = Path(__file__).resolve().parents[2]
INSPECT = "network inspect kind --format {{range .IPAM.Config}}{{.Gateway}} {{end}}"
EVERYTHING = Machine(is_root=True, has=lambda _: True, has_file=lambda _: True, built=lambda _: True)
NOTHING = Machine(is_root=False, has=lambda _: False, has_file=lambda _: False, built=lambda _: False)
PLACES = Places(Path("/state"), Path("/programs"))


def test_a_machine_with_everything_has_no_complaint() -> None:
    assert complaints(EVERYTHING, control_plane=False) == []


def test_each_missing_part_is_named_with_its_fix() -> None:
    root, debian, go = complaints(NOTHING, control_plane=False)
    assert "run it as root" in root
    assert debian.startswith("on Debian: apt-get install")
    assert all(
        package in debian for package in ("etcd-server", "containerd", "containernetworking-plugins", "nftables")
    )
    assert go.startswith("Go, to build kube-apiserver")


def test_a_control_plane_needs_neither_root_nor_what_runs_pods() -> None:
    debian, go = complaints(NOTHING, control_plane=True)
    assert debian == "on Debian: apt-get install --no-install-recommends etcd-server"
    assert "kubelet" not in go


def test_an_order_that_cannot_be_carried_out_says_why_and_starts_nothing(tmp_path: Path) -> None:
    variables = {**os.environ, "PATH": "/nonexistent", "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    order = [sys.executable, "-m", "tools.cluster", "up", "--control-plane", "--state", str(tmp_path / "state")]
    done = subprocess.run(order, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Missing:" in done.stderr
    assert "Go, to build" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "state").exists()


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Process]:
    process = start(["sleep", "600"], tmp_path / "log", environment(tmp_path))
    yield process
    end(process, grace=0)


def test_a_process_is_recognised_by_its_id_and_its_start(sleeper: Process) -> None:
    assert is_alive(sleeper)
    assert not is_alive(Process(sleeper.pid, "1"))
    assert not is_alive(Process(2**22 - 1, sleeper.started))


def test_a_process_that_only_has_the_same_id_is_left_alone(sleeper: Process) -> None:
    end(Process(sleeper.pid, "1"), grace=0)
    assert is_alive(sleeper)


def test_a_process_that_does_not_listen_is_killed_after_its_grace(tmp_path: Path) -> None:
    deaf = "import signal as s; s.signal(s.SIGTERM, s.SIG_IGN); print('deaf', flush=True); s.pause(); s.pause()"
    log = tmp_path / "log"
    process = start([sys.executable, "-c", deaf], log, environment(tmp_path))
    until(lambda: "deaf" in log.read_text("utf-8"), "it is deaf", seconds=30)
    end(process, grace=0.1)
    assert not is_alive(process)


def test_a_process_that_has_ended_is_not_alive_before_its_parent_knows() -> None:
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as child:
        known = identify(child.pid)
        assert known is not None
        handle = os.pidfd_open(child.pid)
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        os.close(handle)
        assert not is_alive(known)


def test_a_process_that_nobody_wrote_down_is_found_by_its_mark(sleeper: Process, tmp_path: Path) -> None:
    assert marked(tmp_path) == [sleeper]
    assert marked(tmp_path / "other") == []
    assert f"process {sleeper.pid}" in list(leftovers.all_of(tmp_path, None))


def test_down_ends_what_a_half_start_left_and_nothing_else(tmp_path: Path) -> None:
    state, other = tmp_path / "state", tmp_path / "other"
    write(state, Record(CONTROL_PLANE, 1, (2, 3), programs="/programs"))
    forgotten = start(["sleep", "600"], tmp_path / "log", environment(state))
    stranger = start(["sleep", "600"], tmp_path / "log", environment(other))
    # The id of somebody else, as if it had been given away since.
    write(state, Record(CONTROL_PLANE, 1, (2, 3), "/programs", processes={"etcd": Process(stranger.pid, "1")}))
    try:
        assert down(state)
        assert not is_alive(forgotten)
        assert is_alive(stranger)
        assert not state.exists()
        assert not down(state)
    finally:
        end(stranger, grace=0)


def test_what_a_killed_test_process_left_is_taken_down_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = identify(os.getpid())
    assert mine is not None
    used = tmp_path / f"sendonce-kubernetes-control_plane-{mine.pid}-{mine.started}"
    orphan = tmp_path / f"sendonce-kubernetes-control_plane-{mine.pid}-1"
    for folder in (used, orphan):
        write(folder, Record(CONTROL_PLANE, 1, (2, 3), programs="/programs"))
    process = start(["sleep", "600"], tmp_path / "log", environment(orphan))
    remove_orphans()
    assert not is_alive(process)
    assert not orphan.exists()
    assert used.exists()


def test_a_folder_that_is_not_a_clusters_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(ClusterError, match="it is not a cluster's folder"):
        down(tmp_path / "state")
    assert (tmp_path / "state/thesis.txt").exists()


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = Record(NODE, 1, (2, 3), "/programs", slot=4, processes={"etcd": Process(5, "6")}, init=Process(7, "8"))
    write(tmp_path, record)
    assert read(tmp_path) == record


def test_a_record_that_cannot_be_read_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text("{", encoding="utf-8")
    with pytest.raises(ClusterError, match=r"can't be read .* end its processes by hand"):
        read(tmp_path)


def test_nodes_share_no_address() -> None:
    nodes = [Addresses(slot) for slot in SLOTS]
    assert len({at.pods for at in nodes} | {at.services for at in nodes} | {at.host for at in nodes}) == 3 * len(nodes)
    # the longest name of an interface that Linux takes
    assert all(len(at.host_link) <= 15 for at in nodes)


def test_a_control_plane_listens_on_the_loopback_interface_only() -> None:
    record = Record(CONTROL_PLANE, 1, (2, 3), "/programs")
    server = control_plane.api_server(PLACES, record)
    assert "--bind-address=127.0.0.1" in server
    assert all("127.0.0.1" in part for part in control_plane.etcd(PLACES, record, "etcd") if "http" in part)


def test_a_node_asks_no_name_server_outside_and_removes_no_image() -> None:
    settings = node.kubelet_settings(inside(), Addresses(0))
    assert settings["resolvConf"] == ""
    assert settings["imageGCHighThresholdPercent"] == 100
    assert "forward" not in node.dns_settings(inside(), Addresses(0))


def test_programs_are_built_from_pinned_sources_without_paths_of_this_machine(tmp_path: Path) -> None:
    folder, command = programs.build_command("kubelet", tmp_path / "kubelet")
    assert folder == MODULES / "kubernetes"
    assert "-trimpath" in command
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in " ".join(command)
    assert (folder / "go.sum").exists()
    assert f"k8s.io/kubernetes {KUBERNETES}" in (folder / "go.mod").read_text("utf-8")
    assert f"coredns {COREDNS}" in (MODULES / "coredns/go.mod").read_text("utf-8")
    assert f"cli-utils {CLI_UTILS}" in (MODULES / "kstatus/go.mod").read_text("utf-8")


def test_cgroup_file_systems_of_both_versions_are_found() -> None:
    text = (
        "30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        "31 30 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
        "32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    )
    assert {str(path): kind for path, kind in cgroups.roots(text).items()} == {
        "/sys/fs/cgroup/memory": "cgroup",
        "/sys/fs/cgroup/unified": "cgroup2",
    }


def test_an_image_archive_holds_its_layer_and_says_how_to_start_it() -> None:
    target = io.BytesIO()
    images.write_archive(target, "localhost/it:1", io.BytesIO(b"layer"), {"Cmd": ["it"]})
    target.seek(0)
    with tarfile.open(fileobj=target) as archive:
        contents = {entry.name: archive.extractfile(entry) for entry in archive}
        files = {name: file.read() for name, file in contents.items() if file}
    (manifest,) = json.loads(files["manifest.json"])
    config = json.loads(files[manifest["Config"]])
    assert manifest["RepoTags"] == ["localhost/it:1"]
    assert files[manifest["Layers"][0]] == b"layer"
    assert config["config"] == {"Cmd": ["it"]}
    assert config["rootfs"]["diff_ids"] == [f"sha256:{manifest['Layers'][0].removesuffix('.tar')}"]


def test_an_archive_that_is_not_there_is_an_error_that_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="docker-archive"):
        images.load(Process(1, "1"), tmp_path, tmp_path / "none.tar")


def test_other_packages_are_another_base_image() -> None:
    assert all(package in base_image.archive_path().name for package in base_image.PACKAGES)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, with a kind and a docker that write down what they are asked."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("kind", "docker"):
        script = f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/asked\n[ "$*" = "get clusters" ] && echo other\nexit 0\n'
        (folder / name).write_text(script, encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


def test_kind_gets_a_kubeconfig_apart_from_a_persons_own(engine: Path, tmp_path: Path) -> None:
    path = kind.up()
    assert path == tmp_path / "state/sendonce/kind.kubeconfig"
    asked = (tmp_path / "asked").read_text("utf-8").splitlines()
    assert asked[-1] == f"kind create cluster --name sendonce --kubeconfig {path} --wait 120s"


def test_kind_gets_images_and_is_deleted_by_the_name_that_is_ours(engine: Path, tmp_path: Path) -> None:
    kind.load(tmp_path / "worker.tar")
    kind.down()
    load, delete = (tmp_path / "asked").read_text("utf-8").splitlines()
    assert load == f"kind load image-archive {tmp_path}/worker.tar --name sendonce"
    assert delete == f"kind delete cluster --name sendonce --kubeconfig {kind.kubeconfig_path()}"


def test_a_kind_cluster_that_is_up_only_writes_its_kubeconfig_anew(engine: Path, tmp_path: Path) -> None:
    (engine / "kind").write_text(f'#!/bin/sh\necho "kind $*" >> {tmp_path}/asked\necho other sendonce\n', "utf-8")
    path = kind.up()
    asked = (tmp_path / "asked").read_text("utf-8").splitlines()
    assert asked[-1] == f"kind export kubeconfig --name sendonce --kubeconfig {path}"


@pytest.mark.parametrize(
    ("answer", "address"),
    [
        ("fc00:f853:ccd:e793::1 127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("fc00:f853:ccd:e793::1", None),
        # a machine that Docker keeps for itself (RFC 5737: nobody's)
        ("192.0.2.1", None),
        ("", None),
    ],
)
def test_pods_of_kind_reach_this_machine_at_their_nodes_way_out(engine: Path, answer: str, address: str | None) -> None:
    (engine / "docker").write_text(f'#!/bin/sh\n[ "$*" = "{INSPECT}" ] && echo "{answer}"\n', encoding="utf-8")
    assert kind.host() == address


@pytest.mark.parametrize(
    ("absent", "reason"), [("kind", "kind is not installed"), ("docker", "Docker is not installed")]
)
def test_without_kind_or_docker_the_reason_and_another_way_are_given(engine: Path, absent: str, reason: str) -> None:
    (engine / absent).unlink()
    with pytest.raises(MissingPartError, match=f"{reason}.*make cluster"):
        kind.up()


def test_a_docker_that_does_not_answer_is_said(engine: Path) -> None:
    (engine / "docker").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert "Docker does not answer" in kind.missing()
