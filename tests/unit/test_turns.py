"""Whose turn it is among the tests, and until when a cluster stays up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.turns import Clusters, Scopes, Turn, turn_of


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
        clusters.note(fixture, request)
    seen = []
    for turn in (*Turn, Turn.QUICK):
        clusters.end_before(turn)
        seen.append(list(ended))
    assert seen == [[], ["node"], ["node", "control_plane"], ["node", "control_plane"], ["node", "control_plane"]]
