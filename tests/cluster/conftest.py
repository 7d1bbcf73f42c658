"""Kubernetes for tests: levels, each a marker.

    wiring         no cluster
    control_plane  a real API server with its controllers and scheduler, but no Pods run: ask for `control_plane`
    end_to_end     a node on which Pods run: ask for `node`
    kstatus        no cluster, but kstatus' own library: ask for `kstatus`

In: what `levels` chooses; the header of the output says which. Out: a Cluster (see `reach`) once per test process. A
test that asks for a fixture gets its marker. A level that can't run here is skipped, and the end of the output says
why; with SENDONCE_REQUIRE_ALL_LEVELS=1 that is a failure.
"""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.cluster.bringing import open_cluster, own, unbuilt, without_kstatus
from tests.cluster.levels import (
    ASSETS_VARIABLE,
    CONTEXT_VARIABLE,
    CONTROL_PLANE,
    END_TO_END,
    KSTATUS,
    REQUIRE_VARIABLE,
    Choice,
    Source,
    Surroundings,
    choose,
    environment_for_tests,
)
from tests.cluster.reach import Cluster
from tools.cluster import base_image, engines, kind, needs
from tools.cluster.places import programs
from tools.cluster.programs import KSTATUS as KSTATUS_PROGRAM

# Clusters that are not the tests' own get their images from elsewhere.
PUBLIC_BASE = "python:3.11-slim"

LEVELS = {CONTROL_PLANE: "control_plane", END_TO_END: "node", KSTATUS: "kstatus"}

# At once, before anything reads it: no test finds a cluster that nobody named.
os.environ.update(environment_for_tests(os.environ))
os.environ.pop("KUBERNETES_SERVICE_HOST")


def _missing(*, control_plane: bool) -> str:
    machine = needs.this_machine(programs())
    found = needs.complaints(machine, control_plane=control_plane)
    found += [] if control_plane else [*base_image.complaints(), *engines.complaints()]
    return "; ".join(found) or unbuilt(control_plane=control_plane)


@cache
def _surroundings() -> Surroundings:
    return Surroundings(
        context=os.environ.get(CONTEXT_VARIABLE, ""),
        assets=os.environ.get(ASSETS_VARIABLE, ""),
        kind_missing=kind.missing(),
        control_plane_missing=_missing(control_plane=True),
        node_missing=_missing(control_plane=False),
        kstatus_missing=without_kstatus(),
    )


def _choice(level: str) -> Choice:
    return choose(level, _surroundings())


def _prefix(level: str) -> str:
    return f"the level {level} can't run here: "


def pytest_report_header() -> list[str]:
    """Say on what each level runs."""
    choices = {level: _choice(level) for level in LEVELS}
    return [
        f"{level}: {choice.description if choice.source else 'skipped, as is said at the end'}"
        for level, choice in choices.items()
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the fixture that they ask for, and skip those whose level can't run."""
    for item in items:
        for level, fixture in LEVELS.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(level)
                # Starting counts: 10 seconds on an idle machine, more beside other work.
                item.add_marker(pytest.mark.timeout(900))
                if _choice(level).source is None:
                    item.add_marker(pytest.mark.skip(reason=_prefix(level) + _choice(level).description))


def _skipped(config: pytest.Config) -> dict[str, int]:
    """Return how many tests of each level were skipped because the level can't run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    reasons = [str(report.longrepr) for report in reports]
    counts = {level: sum(_prefix(level) in reason for reason in reasons) for level in LEVELS}
    return {level: count for level, count in counts.items() if count}


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if a level was skipped where all are required."""
    if _skipped(session.config) and os.environ.get(REQUIRE_VARIABLE) == "1" and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end which levels did not run, and what would cure it."""
    skipped = _skipped(config)
    if skipped:
        terminalreporter.section("levels that did not run")
    for level, count in skipped.items():
        terminalreporter.line(f"{level}: {count} tests skipped. {_choice(level).description}")
    if skipped and os.environ.get(REQUIRE_VARIABLE) == "1":
        terminalreporter.line(f"{REQUIRE_VARIABLE}=1: the run has failed for it", red=True)


def _cluster(level: str) -> Iterator[Cluster]:
    here, choice = _surroundings(), _choice(level)
    with open_cluster(level, choice, here.context, here.assets) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def control_plane() -> Iterator[Cluster]:
    """Yield a real API server, controllers and scheduler; Pods stay pending."""
    yield from _cluster(CONTROL_PLANE)


@pytest.fixture(scope="module")
def second_control_plane(control_plane: Cluster) -> Iterator[Cluster]:
    """Yield another one, that knows nothing of the first; skipped where the first is not the tests' own."""
    here, choice = _surroundings(), _choice(CONTROL_PLANE)
    if choice.source not in {Source.OWN, Source.ASSETS}:
        pytest.skip(f"a second control plane can only be the tests' own; the first is {control_plane.description}")
    assets = Path(here.assets) if choice.source is Source.ASSETS else None
    with own(CONTROL_PLANE, "a second cluster of its own", assets, name="-second") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def node() -> Iterator[Cluster]:
    """Yield a cluster on which Pods run."""
    yield from _cluster(END_TO_END)


@pytest.fixture(scope="session")
def base(node: Cluster) -> str:
    """Return the name of a small image with Python in it, which the node has or can get."""
    if node.state is None:
        return PUBLIC_BASE
    node.load(base_image.build())
    return base_image.NAME


@pytest.fixture(scope="session")
def kstatus() -> Path:
    """Return the program that judges objects with kstatus' own library."""
    return programs() / KSTATUS_PROGRAM
