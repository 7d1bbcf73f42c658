"""Whose turn it is among the tests, and until when a cluster stays up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.turns import HERE, Clusters, Scopes, Turn, turn_of


@pytest.mark.parametrize(
    ("path", "turn"),
    [
        ("cluster/e2e/test_e2e_jobs.py", Turn.PODS),
        ("cluster/test_cluster_node.py", Turn.PODS),
        ("cluster/operator/test_operator_wishes.py", Turn.CONTROL_PLANES),
        ("integration/cli/test_cli_run.py", Turn.OTHERS),
        ("unit/test_clock.py", Turn.QUICK),
    ],
)
def test_what_needs_most_comes_first(path: str, turn: Turn) -> None:
    assert turn_of(path) is turn


def test_all_on_pods_is_one_scope_and_everything_else_goes_by_modules() -> None:
    scope = Scopes._split_scope  # noqa: SLF001 - the method that a scheduler of xdist is made by
    on_pods = [
        scope(Scopes.__new__(Scopes), f"tests/{name}::test") for name in ("cluster/e2e/a.py", "cluster/e2e/b.py")
    ]
    assert on_pods == ["on Pods", "on Pods"]
    assert scope(Scopes.__new__(Scopes), "tests/unit/a.py::test") == "tests/unit/a.py"


def test_a_cluster_is_taken_down_once_and_not_before_its_turn_is_over() -> None:
    ended: list[str] = []
    clusters = Clusters()
    for name in ("node", "control_plane", "tmp_path"):
        fixture: Any = SimpleNamespace(argname=name, finish=ended.append)
        request: Any = name
        clusters.pytest_fixture_setup(fixture, request)
    seen = []
    for path in ("cluster/e2e/a.py", "cluster/b.py", "integration/c.py", "unit/d.py"):
        item: Any = SimpleNamespace(path=HERE / path)
        clusters.pytest_runtest_setup(item)
        seen.append(list(ended))
    assert seen == [[], ["node"], ["node", "control_plane"], ["node", "control_plane"]]


CONFTEST = """
import pytest
from pathlib import Path
from tests import turns

turns.HERE = Path(__file__).parent

def pytest_configure(config):
    config.pluginmanager.register(turns.Clusters())

@pytest.fixture(scope="session")
def control_plane():
    yield
    print("DOWN")

@pytest.fixture(scope="session")
def with_crds(control_plane):
    yield
    print("ITS CRDS")
"""


def test_pytest_takes_a_cluster_down_with_what_stands_on_it_before_the_tests_of_the_next_turn(tmp_path: Path) -> None:
    """The whole way, with a session's fixture that stands for a cluster: a hook in a conftest would not be heard."""
    files = {
        "pytest.ini": "[pytest]",
        "those/conftest.py": CONFTEST,
        "those/cluster/test_a.py": "def test_a(with_crds): print('A')",
        "those/unit/test_b.py": "def test_b(): print('B')",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-s", "-q", "-p", "no:cacheprovider", "those"]
    env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    words = [line.lstrip(".") for line in ran.stdout.splitlines() if line.lstrip(".") in {"A", "B", "DOWN", "ITS CRDS"}]
    assert words == ["A", "ITS CRDS", "DOWN", "B"], ran.stdout + ran.stderr
