"""Whose turn it is: what needs most comes first, and a cluster is taken down when nobody needs it any more.

    1. Pods            everything on a node, one module after the other in one test process: one node, one import of
                       the images, one chart
    2. control planes  module by module in the other processes, each with a control plane of its own
    3. everything else, and at the very end what is quick, so that no process waits there for another

A cluster that is up and does nothing costs an eighth of a core. In: paths and fixtures. Out: turns and scopes.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from _pytest.fixtures import SubRequest

HERE = Path(__file__).parent


class Turn(IntEnum):
    """In this order."""

    PODS, CONTROL_PLANES, OTHERS, QUICK = range(4)


_ON_PODS = ("cluster/e2e/", "cluster/test_cluster_node.py", "cluster/kubectl/test_plugin_forward.py")
_TURNS = (
    *((prefix, Turn.PODS) for prefix in _ON_PODS),
    ("cluster/", Turn.CONTROL_PLANES),
    ("chart/", Turn.QUICK),
    ("unit/", Turn.QUICK),
)
# fixtures that are clusters, and the last turn that needs them
_CLUSTERS = {"node": Turn.PODS, "control_plane": Turn.CONTROL_PLANES}


def turn_of(path: str) -> Turn:
    """Whose turn a module has; `path` begins in the folder of the tests."""
    return next((turn for prefix, turn in _TURNS if path.startswith(prefix)), Turn.OTHERS)


def turn_of_item(item: pytest.Item) -> Turn:
    """Whose turn a test has."""
    return turn_of(item.path.relative_to(HERE).as_posix())


class Scopes(LoadScopeScheduling):  # type: ignore[misc] # its base has no types
    """What several test processes share: modules, and all on Pods as one."""

    def _split_scope(self, nodeid: str) -> str:
        module = super()._split_scope(nodeid)
        on_pods = turn_of(module.removeprefix("tests/")) is Turn.PODS
        return "on Pods" if on_pods else module


class Clusters:
    """The clusters that this process has up. A plugin: a conftest hears nothing of fixtures of the whole session."""

    def __init__(self) -> None:
        """None yet."""
        self._up: list[tuple[pytest.FixtureDef[Any], SubRequest]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: SubRequest) -> None:
        """Remember a fixture that is set up, if it is a cluster."""
        if fixturedef.argname in _CLUSTERS:
            self._up.append((fixturedef, request))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Take down, with all that stands on it, what no test from this one on asks for."""
        turn = turn_of_item(item)
        for fixture, request in [one for one in self._up if _CLUSTERS[one[0].argname] < turn]:
            self._up.remove((fixture, request))
            fixture.finish(request)
