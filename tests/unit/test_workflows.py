"""The workflows: what they may do, what they depend on, and that the linters have seen them."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools import workflows

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
every_workflow = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


def document(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in document(path)["jobs"].values() for step in job["steps"]]


@every_workflow
def test_an_action_is_named_by_its_commit_with_its_version_beside_it(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text("utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


def test_an_action_is_of_one_version_everywhere() -> None:
    used = {action for path in FILES for action in re.findall(r"uses: (.*)", path.read_text("utf-8"))}
    assert len(used) == len({action.partition("@")[0] for action in used})


@every_workflow
def test_a_workflow_may_read_the_code_and_nothing_else(path: Path) -> None:
    assert document(path)["permissions"] == {"contents": "read"}
    for job in document(path)["jobs"].values():
        assert "permissions" not in job
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False
    assert "secrets." not in path.read_text("utf-8")


@every_workflow
def test_a_workflow_runs_on_each_change_and_ends(path: Path) -> None:
    # YAML 1.1 reads the key `on` as true.
    assert set(document(path)[True]) == {"push", "pull_request"}
    assert document(path)["concurrency"]["cancel-in-progress"] is True
    assert all(0 < job["timeout-minutes"] <= 90 for job in document(path)["jobs"].values())


def test_each_level_of_the_tests_runs_once() -> None:
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    levels = re.findall(r"pytest.* -m (\"[^\"]*\"|\w+)", text)
    assert levels == ['"not control_plane and not end_to_end"', "control_plane", "end_to_end"]
    assert document(ROOT / ".github" / "workflows" / "tests.yml")["env"] == {workflows.REQUIRE_VARIABLE: "1"}


# --- the linters ------------------------------------------------------------------------------------------------------
@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Go, where nothing has been built."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(workflows.REQUIRE_VARIABLE, raising=False)
    return tmp_path


def test_without_go_the_reason_is_said_and_the_rest_is_checked(bare: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert workflows.main(os.environ) == 0
    assert "Go builds actionlint, and is not here" in capfd.readouterr().out


def test_without_go_a_run_that_requires_all_fails(bare: Path) -> None:
    assert workflows.main({**os.environ, workflows.REQUIRE_VARIABLE: "1"}) == 1


def test_a_complaint_of_actionlint_is_a_failure(bare: Path, capfd: pytest.CaptureFixture[str]) -> None:
    version = workflows.pinned((workflows.MODULE / "go.mod").read_text("utf-8"))
    program = bare / "sendonce" / "linters" / f"actionlint-{version}"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "asked $*"\nexit 1\n', "utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert workflows.main(os.environ) == 1
    assert "asked -shellcheck" in capfd.readouterr().out


def test_actionlint_is_built_from_its_pinned_module(tmp_path: Path) -> None:
    assert workflows.pinned("module it\n\nrequire github.com/rhysd/actionlint v1.2.3\n") == "v1.2.3"
    with pytest.raises(ValueError, match=r"add `require .*actionlint"):
        workflows.pinned("module it\n")
    assert workflows.build_command(tmp_path)[-1] == "github.com/rhysd/actionlint/cmd/actionlint"
