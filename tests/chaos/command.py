"""`make chaos RUNS=n SEED=s`: random fault schedules, each judged by the far end's ledger.

Run number i has the seed s + i, and everything about it comes from that: `--runs 1 --seed X` repeats run X alone. With
`--only KIND` seeds of other kinds are passed over. A run that breaks a rule prints its story and leaves everything in
build/chaos/<seed>/. Exit code: 0 if every rule held in every run, 1 if not, 2 for a wrong option.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from tests.chaos.judge import exhibits, shortened
from tests.chaos.lane import Lane
from tests.chaos.performance import Verdict, perform
from tests.chaos.scenario import KINDS, Scenario, scenario_of

_BUILD = Path(__file__).resolve().parents[2] / "build" / "chaos"


@dataclass(frozen=True, slots=True)
class _Output:
    """Where runs leave their files, and whether good ones do."""

    root: Path
    keep: bool

    def folder_of(self, scenario: Scenario) -> Path:
        """The folder of one run."""
        return self.root / str(scenario.seed)


def main() -> int:
    """Run, and say what was seen."""
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=_positive, default=20, help="number of schedules (20)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first one (1)")
    parser.add_argument("--only", choices=KINDS, help="only schedules of this kind")
    parser.add_argument("--jobs", type=_positive, default=1, help="runs at the same time, each with its own server (1)")
    parser.add_argument("--keep", action="store_true", help="keep the files of good runs too")
    parser.add_argument("--into", type=Path, default=_BUILD, help="folder for what runs leave behind (build/chaos)")
    parser.add_argument("--show", action="store_true", help="print the schedules and run nothing")
    options = parser.parse_args()
    scenarios = list(islice(_scenarios(options.seed, options.only), options.runs))
    if options.show:
        for scenario in scenarios:
            print(_described(scenario))
        return 0
    verdicts = asyncio.run(_run_all(scenarios, options.jobs, _Output(options.into.absolute(), options.keep)))
    return _sum_up(verdicts)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value


def _scenarios(seed: int, only: str | None) -> Iterator[Scenario]:
    found = (scenario_of(number) for number in count(seed))
    return (scenario for scenario in found if only in {None, scenario.kind})


async def _run_all(scenarios: list[Scenario], jobs: int, output: _Output) -> list[Verdict]:
    waiting, verdicts = iter(scenarios), list[Verdict]()

    async def work(number: int) -> None:
        # not below the repository: as root, the server is another user, who must be able to enter the folder
        root = Path(tempfile.mkdtemp(prefix="sendonce-chaos-"))
        root.chmod(0o711)
        async with Lane(root / f"lane{number}") as lane:
            for scenario in waiting:
                verdict = await perform(scenario, lane, output.folder_of(scenario))
                verdicts.append(verdict)
                _tell(verdict, output)
        shutil.rmtree(root, ignore_errors=True)

    async with asyncio.TaskGroup() as tasks:
        for number in range(min(jobs, len(scenarios))):
            tasks.create_task(work(number))
    return verdicts


def _described(scenario: Scenario) -> str:
    audience = scenario.audience
    head = (
        f"seed {scenario.seed}: {scenario.kind}, {audience.people} people, sms {scenario.sms}, "
        f"canary {scenario.canary}, {scenario.workers} workers with {scenario.concurrency} in flight, "
        f"{scenario.max_attempts} attempts, far end {dict(scenario.far_end)}, chances {dict(scenario.chances)}"
    )
    return "\n".join([head, *(f"    {event}" for event in (*scenario.events, *scenario.afterwards))])


def _tell(verdict: Verdict, output: _Output) -> None:
    folder = output.folder_of(verdict.scenario)
    text = "\n".join(_report(verdict))
    (folder / "story.txt").write_text(f"{_described(verdict.scenario)}\n\n{verdict.story.text()}\n\n{text}\n", "utf-8")
    print(_described(verdict.scenario))
    print(f"    {verdict.seconds:.1f} s: {_states(verdict)}", flush=True)
    if not verdict.good:
        print(verdict.story.text())
        print(text)
        print(
            f"    everything is in {folder}; again: tests/chaos/run.py --runs 1 --seed {verdict.scenario.seed}",
            flush=True,
        )
    elif not output.keep:
        shutil.rmtree(folder)


def _states(verdict: Verdict) -> str:
    if verdict.evidence is None:
        return "THE HARNESS FAILED"
    states = Counter(row["state"] for row in verdict.evidence.deliveries)
    words = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    broken = Counter(violation.rule for violation in verdict.violations)
    judged = "every rule held" if verdict.good else f"BROKEN: {dict(broken)}"
    return f"{words}; {len(verdict.evidence.ledger)} hand-offs; {judged}"


def _report(verdict: Verdict) -> Iterator[str]:
    if verdict.error is not None:
        yield verdict.error
    for violation in shortened(verdict.violations):
        yield f"VIOLATION of `{violation.rule}`: {violation.words} {violation.who or ''}"
        if violation.who is not None and verdict.evidence is not None:
            yield from (f"      {line}" for line in exhibits(verdict.evidence, violation.who))


def _sum_up(verdicts: list[Verdict]) -> int:
    bad = sorted(verdict.scenario.seed for verdict in verdicts if not verdict.good)
    kinds = Counter(verdict.scenario.kind for verdict in verdicts)
    seconds = sum(verdict.seconds for verdict in verdicts)
    print(f"{len(verdicts)} runs ({dict(kinds)}), {seconds / max(1, len(verdicts)):.1f} s each: ", end="")
    print(f"seeds {bad} broke rules" if bad else "every rule held in all of them")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
