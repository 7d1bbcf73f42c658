"""Takes each of the fifteen rules, and more, out of a copy of the code, and says whether a test of the rule saw it.

In: the mutants beside this file. Out: a line for each, and exit code 1 if one survived. The packages of the copy are
put before all others by PYTHONPATH, which the processes that the tests start inherit.
"""

# ruff: noqa: T201 - a program that prints its findings

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
import uuid
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.mutants import MUTANTS, PARTS, RULES, Mutant

from sendonce_cli.embedded import EmbeddedPostgres

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cli", "gateway", "store", "worker")
SECONDS = 180
# pytest's exit codes: tests failed, and nothing was tested
FAILED, BROKEN = 1, "could not be tested"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one mutant: `killed`, `SURVIVED`, or why it could not be tested."""

    mutant: Mutant
    words: str
    output: str

    @property
    def killed(self) -> bool:
        """Whether a test failed."""
        return self.words == "killed"


def replaced(text: str, mutant: Mutant) -> str:
    """The file's text with the rule left out. Raises ValueError if the place is not there exactly once."""
    places = text.count(mutant.old)
    if places != 1:
        raise ValueError(f"{mutant.path}: the text to replace is there {places} times, not once: {mutant.old!r}")
    return text.replace(mutant.old, mutant.new)


def copy_checkout(to: Path) -> None:
    """The packages and their tests as they are now: the checkout may be edited meanwhile."""
    for folder in (*PACKAGES, "tests"):
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", to)


def tests_of(rules: Iterable[str]) -> list[str]:
    """The files with the tests of these rules."""
    wanted = set(rules)
    return [test for rule in (*RULES, *PARTS) if rule.key in wanted for test in rule.tests.split()]


async def judge(mutant: Mutant, pristine: Path, dsn: str) -> Verdict:
    """Run the rule's tests without the rule."""
    with tempfile.TemporaryDirectory(prefix="sendonce-mutant-") as folder:
        shutil.copytree(pristine, folder, dirs_exist_ok=True)
        place = Path(folder) / mutant.path
        try:
            place.write_text(replaced(place.read_text("utf-8"), mutant), "utf-8")
        except ValueError as error:
            return Verdict(mutant, f"{BROKEN}: {error}", "")
        chosen = ["-k", mutant.k] if mutant.k else []
        code, output = await _pytest([*chosen, *tests_of([mutant.rule])], Path(folder), dsn)
    return Verdict(mutant, {0: "SURVIVED", FAILED: "killed", None: "killed"}.get(code, BROKEN), output)


async def _pytest(arguments: Sequence[str], copy: Path, dsn: str, seconds: float = SECONDS) -> tuple[int | None, str]:
    """The exit code of pytest, None if it hung, and what it said."""
    path = os.pathsep.join(str(copy / package) for package in PACKAGES)
    # a copy has no history of its own, which what compares with the version before asks for
    history = {"GIT_DIR": str(ROOT / ".git")}
    env = {**os.environ, **history, "PYTHONPATH": path, "SENDONCE_TEST_DSN": dsn, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=copy, env=env, stdout=PIPE, stderr=STDOUT, start_new_session=True
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)  # the workers that a test has started as well
        await process.wait()
        return None, "the tests hung"
    return process.returncode, output.decode("utf-8", "replace")


async def judge_all(mutants: Sequence[Mutant], jobs: int) -> list[Verdict]:
    """Judge them, some at a time, against one server of their own. Raises RuntimeError if the tests fail anyway."""
    slots = asyncio.Semaphore(jobs)
    # straight in the folder for temporary files: the server may run as a user who can enter no other
    root = Path(tempfile.gettempdir()) / f"sendonce-mutants-{uuid.uuid4().hex}"
    server = EmbeddedPostgres(root, settings={"fsync": "off", "max_connections": "200"})
    await server.start()
    try:
        with tempfile.TemporaryDirectory(prefix="sendonce-pristine-") as folder:
            pristine = Path(folder)
            copy_checkout(pristine)
            await _pass_without(mutants, pristine, server.dsn())

            async def one(mutant: Mutant) -> Verdict:
                async with slots:
                    verdict = await judge(mutant, pristine, server.dsn())
                print(f"{mutant.rule:>9}: {mutant.name}: {verdict.words}", flush=True)
                return verdict

            return await asyncio.gather(*(one(mutant) for mutant in mutants))
    finally:
        await server.stop(remove=True)


async def _pass_without(mutants: Sequence[Mutant], pristine: Path, dsn: str) -> None:
    tests = tests_of(mutant.rule for mutant in mutants)
    code, output = await _pytest(tests, pristine, dsn, SECONDS * max(1, len(tests)))
    if code != 0:
        raise RuntimeError(f"the tests fail although no rule was taken out:\n{output[-4000:]}")
    print("without a mutant all tests pass", flush=True)


def table() -> str:
    """The rules, where they stand, their tests and their mutants, as docs/rules.md shows them."""
    lines = ["| rule | in the code | tests | mutants: each is killed |", "| --- | --- | --- | --- |"]
    for rule in RULES:
        tests = "<br>".join(f"[`{Path(test).name}`](../{test})" for test in rule.tests.split())
        mutants = "<br>".join(mutant.name for mutant in MUTANTS if mutant.rule == rule.key)
        lines.append(f"| {rule.key}. {rule.name} | {rule.where} | {tests} | {mutants} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Take each rule out of the code and see whether its tests notice.")
    parser.add_argument(
        "--rule", action="append", help="only the mutants of this rule (1 to 15) or part; may be repeated"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants judged at a time")
    parser.add_argument("--table", action="store_true", help="print the table of docs/rules.md and do nothing else")
    parser.add_argument("--verbose", action="store_true", help="show what the tests of a survivor said")
    asked = parser.parse_args()
    if asked.table:
        print(table(), end="")
        return 0
    mutants = [mutant for mutant in MUTANTS if not asked.rule or mutant.rule in asked.rule]
    verdicts = asyncio.run(judge_all(mutants, asked.jobs))
    survivors = [verdict for verdict in verdicts if not verdict.killed]
    if asked.verbose:
        for verdict in survivors:
            print(f"\n--- {verdict.mutant.rule}: {verdict.mutant.name}\n{verdict.output[-4000:]}")
    print(f"{len(verdicts) - len(survivors)} of {len(verdicts)} mutants killed")
    return 1 if survivors or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
