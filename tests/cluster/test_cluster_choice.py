"""Which cluster the tests use, and that they use no other."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import kubernetes.config
import pytest
import yaml
from tests.cluster.bringing import extract
from tests.cluster.levels import CONTROL_PLANE, END_TO_END, Source, Surroundings, choose, environment_for_tests
from tests.cluster.reach import kubectl_program

pytestmark = pytest.mark.wiring

NOTHING = Surroundings("", "", "no kind", "no etcd", "no root")
OWN = replace(NOTHING, control_plane_missing="", node_missing="")


@pytest.fixture
def assets(tmp_path: Path) -> str:
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).touch()
    return str(tmp_path)


@pytest.fixture
def somebodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubeconfig as a person has it: with a current context, of a cluster that tests must not touch."""
    contexts = [{"name": name, "context": {"cluster": name, "user": "me"}} for name in ("production", "mine")]
    clusters = [{"name": name, "cluster": {"server": "https://127.0.0.1:1"}} for name in ("production", "mine")]
    users = [{"name": "me", "user": {"token": "secret"}}]
    document = {"apiVersion": "v1", "kind": "Config", "contexts": contexts, "clusters": clusters, "users": users}
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump({**document, "current-context": "production"}), encoding="utf-8")
    monkeypatch.setenv("SENDONCE_TEST_KUBECONFIG", str(path))
    return path


@pytest.mark.parametrize("level", [CONTROL_PLANE, END_TO_END])
def test_a_context_named_on_purpose_comes_first(level: str, assets: str) -> None:
    choice = choose(level, replace(OWN, context="mine", assets=assets, kind_missing=""))
    assert choice.source is Source.CONTEXT
    assert "mine" in choice.description


def test_envtest_serves_the_control_plane_only(assets: str) -> None:
    here = replace(OWN, assets=assets, kind_missing="")
    assert choose(CONTROL_PLANE, here).source is Source.ASSETS
    assert choose(END_TO_END, here).source is Source.KIND


def test_envtest_without_its_programs_is_an_error_that_names_them(tmp_path: Path) -> None:
    choice = choose(CONTROL_PLANE, replace(OWN, assets=str(tmp_path)))
    assert choice.source is None
    assert "kube-apiserver" in choice.description


def test_without_kind_the_tests_have_a_cluster_of_their_own() -> None:
    assert {choose(level, OWN).source for level in (CONTROL_PLANE, END_TO_END)} == {Source.OWN}


def test_a_level_that_cannot_run_says_what_is_missing() -> None:
    choice = choose(END_TO_END, NOTHING)
    assert choice.source is None
    assert "no root" in choice.description
    assert "no kind" in choice.description


def test_the_current_context_of_a_kubeconfig_is_never_a_choice() -> None:
    fields = environment_for_tests({"KUBECONFIG": "/home/me/config", "HOME": "/home/me"})
    assert fields["KUBECONFIG"] == "/dev/null"
    assert fields["SENDONCE_TEST_KUBECONFIG"] == "/home/me/config"
    # A process of pytest-xdist inherits what was changed.
    assert environment_for_tests(fields) == fields
    assert environment_for_tests({"HOME": "/home/me"})["SENDONCE_TEST_KUBECONFIG"] == "/home/me/.kube/config"


def test_kubectl_in_a_test_knows_no_context_by_itself() -> None:
    command = [kubectl_program(), "config", "get-contexts", "--output=name"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""


def test_a_client_library_in_a_test_knows_no_context_by_itself() -> None:
    assert "KUBERNETES_SERVICE_HOST" not in os.environ
    with pytest.raises(kubernetes.config.ConfigException):
        kubernetes.config.load_config()  # type: ignore[no-untyped-call]


def test_of_a_named_context_nothing_else_is_taken(somebodys: Path, tmp_path: Path) -> None:
    taken = yaml.safe_load(extract("mine", tmp_path / "taken").read_text(encoding="utf-8"))
    assert [context["name"] for context in taken["contexts"]] == ["mine"]
    assert taken["current-context"] == "mine"
    assert [cluster["name"] for cluster in taken["clusters"]] == ["mine"]


def test_a_named_context_that_nobody_has_is_an_error(somebodys: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the context other can't be read from"):
        extract("other", tmp_path / "taken")
