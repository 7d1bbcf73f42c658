"""What the output of the tests says of a level: on what it runs, or why it does not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.wiring

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A copy of the harness with a test of each level, where none can run."""
    folder = tmp_path / "tests/cluster"
    folder.mkdir(parents=True)
    for name in ("conftest.py", "levels.py", "bringing.py", "reach.py"):
        shutil.copy(ROOT / "tests/cluster" / name, folder)
    tests = "def test_a(control_plane): pass\n\ndef test_b(node): pass\n\ndef test_c(): pass\n"
    tests += "\n\ndef test_d(kstatus): pass\n"
    (folder / "test_levels.py").write_text(tests, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = --import-mode=importlib -ra -p no:cacheprovider\n"
        f"pythonpath = {tmp_path} {ROOT}\nmarkers =\n  control_plane\n  end_to_end\n  kstatus\n",
        encoding="utf-8",
    )
    return tmp_path


def run_there(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    bare = {"PATH": "/nonexistent", "HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    command = [sys.executable, "-m", "pytest", "tests/cluster", *options]
    return subprocess.run(command, cwd=folder, env=bare | variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_level_that_cannot_run_is_skipped_and_the_end_says_why(elsewhere: Path, options: tuple[str, ...]) -> None:
    done = run_there(elsewhere, *options)
    end_of_output = done.stdout.partition("levels that did not run")[2]
    assert "control_plane: 1 tests skipped." in end_of_output
    assert "end_to_end: 1 tests skipped." in end_of_output
    assert "kstatus: 1 tests skipped." in end_of_output
    assert "go.dev/dl" in end_of_output
    assert "apt-get install" in end_of_output
    assert "1 passed, 3 skipped" in done.stdout
    assert done.returncode == 0


def test_a_skipped_level_fails_a_run_that_requires_all(elsewhere: Path) -> None:
    done = run_there(elsewhere, SENDONCE_REQUIRE_ALL_LEVELS="1")
    assert "SENDONCE_REQUIRE_ALL_LEVELS=1: the run has failed for it" in done.stdout
    assert done.returncode == 1
    chosen = run_there(
        elsewhere, "-m", "not control_plane and not end_to_end and not kstatus", SENDONCE_REQUIRE_ALL_LEVELS="1"
    )
    assert chosen.returncode == 0


def test_the_header_says_on_which_cluster_each_level_runs(elsewhere: Path) -> None:
    done = run_there(elsewhere, "--collect-only", SENDONCE_TEST_KUBE_CONTEXT="mine")
    assert "control_plane: the context mine, named by SENDONCE_TEST_KUBE_CONTEXT" in done.stdout
    assert "end_to_end: the context mine, named by SENDONCE_TEST_KUBE_CONTEXT" in done.stdout
