"""A few schedules of `make chaos`: with keys, without them, and one that hits the import."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.chaos.audience import people_of
from tests.chaos.scenario import KINDS, scenario_of

_RUN = Path(__file__).resolve().parents[1] / "chaos" / "run.py"
_SEEDS = {7: "hold", 14: "keyed", 24: "import"}


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", _SEEDS)
async def test_every_rule_holds_through_a_schedule_of_faults(seed: int, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(_RUN), "--runs", "1", "--seed", str(seed), "--into", str(tmp_path),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()

    assert process.returncode == 0, said.decode()


def test_the_seeds_that_are_run_are_of_different_kinds() -> None:
    assert {seed: scenario_of(seed).kind for seed in _SEEDS} == _SEEDS


def test_a_seed_is_the_same_schedule_and_the_same_list_every_time() -> None:
    for seed in range(20):
        assert scenario_of(seed) == scenario_of(seed)
        assert people_of(scenario_of(seed)) == people_of(scenario_of(seed))


def test_schedules_are_of_every_kind() -> None:
    assert {scenario_of(seed).kind for seed in range(100)} == set(KINDS)


def test_the_truth_about_a_list_adds_up_to_its_lines() -> None:
    for seed in range(20):
        people = people_of(scenario_of(seed))

        assert len(people.text.splitlines()) == people.lines + 1
        assert len(people.people) + people.duplicates + len(people.rejected) + len(people.unreachable) == people.lines
