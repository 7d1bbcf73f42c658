"""A control plane alone: up in seconds, several side by side, and gone afterwards."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import kubernetes.aio.client
import kubernetes.client
import pytest
from tests.cluster.bringing import named
from tests.cluster.reach import Cluster
from tools.cluster import leftovers, parts
from tools.cluster.down import down
from tools.cluster.errors import ClusterError
from tools.cluster.needs import find
from tools.cluster.places import programs
from tools.cluster.processes import is_alive, marked
from tools.cluster.record import CONTROL_PLANE, Record, write
from tools.cluster.up import is_up, up
from tools.cluster.waiting import until


@pytest.fixture
def state(tmp_path: Path, control_plane: Cluster) -> Iterator[Path]:
    """The folder of one more control plane, where the tests have their own."""
    if control_plane.state is None:
        pytest.skip(f"the tests use {control_plane.description}, and start none")
    folder = tmp_path / "cluster"
    yield folder
    down(folder)


def test_the_server_and_its_controllers_answer(control_plane: Cluster) -> None:
    with control_plane.client() as client:
        accounts = kubernetes.client.CoreV1Api(client).list_namespaced_service_account("default")
    assert bool(accounts.items) == control_plane.has_controllers


async def test_the_server_answers_an_asynchronous_client(control_plane: Cluster) -> None:
    async with await control_plane.async_client() as client:
        namespaces = await kubernetes.aio.client.CoreV1Api(client).list_namespace()
    assert "default" in {namespace.metadata.name for namespace in namespaces.items if namespace.metadata}


def test_kubectl_finds_it_by_its_context(control_plane: Cluster) -> None:
    assert "default" in control_plane.kubectl("get", "namespaces", "--output=name")


def test_the_server_can_be_away_for_a_while(control_plane: Cluster) -> None:
    control_plane.stop("kube-apiserver", grace=0)
    assert control_plane.kubectl("get", "--raw=/readyz", check=False) == ""
    control_plane.start("kube-apiserver")
    until(lambda: control_plane.kubectl("get", "--raw=/readyz", check=False) == "ok", "the server is back", seconds=60)


def test_a_second_one_runs_beside_it_and_leaves_nothing_behind(state: Path) -> None:
    assert up(state, control_plane=True)
    processes = list(parts.known(state).processes.values())
    assert is_up(state)
    assert not up(state, control_plane=True), "it is up already"
    with pytest.raises(ClusterError, match="a control plane is up in"):
        up(state, control_plane=False)
    assert down(state)
    assert not any(is_alive(process) for process in processes)
    assert list(leftovers.all_of(state, None)) == []


def test_what_was_left_half_way_is_taken_down_and_started_anew(state: Path) -> None:
    port = 1
    write(state, Record(CONTROL_PLANE, port, (0, 0), programs="/nonexistent"))
    assert not is_up(state)
    up(state, control_plane=True)
    first = parts.known(state)
    os.kill(first.processes["etcd"].pid, signal.SIGKILL)
    until(lambda: not is_up(state), "etcd is missed", seconds=30)
    assert up(state, control_plane=True)
    assert is_up(state)
    still = set(marked(state))
    assert not still & set(first.processes.values())


def test_envtests_programs_are_enough_for_a_server_without_controllers(state: Path, tmp_path: Path) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "kube-apiserver").symlink_to(programs() / "kube-apiserver")
    (assets / "etcd").symlink_to(find("etcd") or "")
    up(state, control_plane=True, folder=assets)
    assert is_up(state)
    assert list(parts.known(state).processes) == ["etcd", "kube-apiserver"]


def test_a_named_context_is_used_as_it_is(control_plane: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENDONCE_TEST_KUBECONFIG", str(control_plane.kubeconfig))
    with named(control_plane.context, "named on purpose") as cluster:
        assert "default" in cluster.kubectl("get", "namespaces", "--output=name")
        with pytest.raises(pytest.skip.Exception, match="only a cluster of the tests' own"):
            cluster.stop("kube-apiserver")


def test_a_part_that_does_not_come_up_is_named_with_its_last_words(state: Path, tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"):
        (folder / name).write_text("#!/bin/sh\necho no such thing as a free port >&2\nexit 1\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    with pytest.raises(ClusterError, match=r"(?s)kube-apiserver has ended\..*no such thing as a free port"):
        up(state, control_plane=True, folder=folder)
