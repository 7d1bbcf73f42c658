"""The benchmark: what is compared with what, in which order, and where the figures go.

    load average → PostgreSQL → sinks → HTTP, SMTP, batches, newsletter, import and memory, sources, claim, pace,
                                                           stream, operator, console → build/bench.json and a table

A missed target is said, and is no failure: the exit code tells whether it ran.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import (
    batching,
    claiming,
    million,
    newsletter,
    operating,
    pacing,
    sending,
    sources,
    streaming,
    watching,
)
from tests.bench.figures import Row, table, write
from tests.bench.sending import Scale
from tests.bench.server import Server, server, version
from tests.bench.sinks import http_sink, mail_sink, smtp_sink

OUTPUT = Path(__file__).resolve().parents[2] / "build" / "bench.json"
QUIET_LOAD = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do."""

    only: Sequence[str]
    quick: bool


async def _http(plan: Plan, using: Server, folder: Path) -> list[Row]:
    scale = Scale(2, 10_000, 3.0, 500) if plan.quick else Scale(5, 40_000, 5.0, 1_500)
    async with http_sink() as sink:
        _announce(f"HTTP, sink: {sink.name}; {scale.rounds} rounds of {scale.recipients:,} recipients")
        return await sending.http(using, sink, folder, scale)


async def _smtp(plan: Plan, using: Server, folder: Path) -> list[Row]:
    scale = Scale(2, 10_000, 3.0) if plan.quick else Scale(5, 30_000, 5.0)
    async with smtp_sink() as sink:
        _announce(f"SMTP, sink: {sink.name}; {scale.rounds} rounds of {scale.recipients:,} recipients")
        return await sending.smtp(using, sink, folder, scale)


async def _batch(plan: Plan, using: Server, folder: Path) -> list[Row]:
    scale = Scale(2, 10_000, 0.0) if plan.quick else Scale(3, 20_000, 0.0)
    async with mail_sink() as sink:
        _announce(f"batches, sink: {sink.name}; {scale.rounds} rounds of {scale.recipients:,} recipients")
        return await batching.measure(using, sink, folder, scale)


async def _newsletter(plan: Plan, using: Server, folder: Path) -> list[Row]:
    scale = Scale(2, 2_000, 0.0) if plan.quick else Scale(5, 20_000, 0.0)
    async with smtp_sink() as sink:
        _announce(f"newsletter, sink: {sink.name}; {scale.rounds} rounds of {scale.recipients:,} recipients")
        return await newsletter.measure(using, sink, folder, scale)


async def _import(plan: Plan, using: Server, folder: Path) -> list[Row]:
    people = 200_000 if plan.quick else 1_000_000
    send = not plan.only or "memory" in plan.only
    async with http_sink() as sink:
        _announce(f"import{' and memory' if send else ''}: {people:,} recipients")
        return await million.measure(using, sink, folder, people, send=send)


async def _sources(plan: Plan, using: Server, folder: Path) -> list[Row]:
    people = 100_000 if plan.quick else 1_000_000
    _announce(f"sources: {people:,} recipients through each")
    return await sources.measure(using, folder, people)


async def _claim(plan: Plan, using: Server, folder: Path) -> list[Row]:
    history = 1_000_000 if plan.quick else 10_000_000
    _announce(f"claim: {history:,} finished rows against none")
    return await claiming.measure(using, folder, history)


async def _pace(plan: Plan, using: Server, folder: Path) -> list[Row]:
    seconds = 6.0 if plan.quick else 15.0
    _announce(f"pace: {pacing.WORKERS} workers on {pacing.RATE} per second with a burst of {pacing.BURST}")
    return await pacing.measure(using, folder, seconds)


async def _stream(plan: Plan, using: Server, folder: Path) -> list[Row]:
    people, seconds = (100_000, 10.0) if plan.quick else (1_000_000, 60.0)
    async with http_sink() as sink:
        _announce(f"stream: {streaming.PER_SECOND} orders per second beside a campaign of {people:,}")
        return await streaming.measure(using, sink, folder, people, seconds)


async def _operator(plan: Plan, using: Server, folder: Path) -> list[Row]:
    campaigns, seconds = (100, 20.0) if plan.quick else (1_000, 60.0)
    _announce(f"operator: {campaigns:,} active campaigns; a quarter of them changes every second, then all of them")
    return await operating.measure(using, folder, campaigns, seconds)


async def _console(plan: Plan, using: Server, folder: Path) -> list[Row]:
    del folder
    people, ledger = (100_000, 1_000_000) if plan.quick else (1_000_000, 10_000_000)
    _announce(f"console: pages of a campaign of {people:,} in a ledger of {ledger:,}")
    return await watching.measure(using, people, ledger)


Phase = Callable[[Plan, Server, Path], Awaitable[list[Row]]]
PHASES: dict[str, Phase] = {
    "http": _http,
    "smtp": _smtp,
    "batch": _batch,
    "newsletter": _newsletter,
    "import": _import,
    "memory": _import,
    "sources": _sources,
    "claim": _claim,
    "pace": _pace,
    "stream": _stream,
    "operator": _operator,
    "console": _console,
}


def _announce(text: str) -> None:
    print(f"\n{text}", flush=True)


def _say_load() -> None:
    load = os.getloadavg()[0]
    verdict = "quiet" if load <= QUIET_LOAD else "NOT quiet: other work disturbs the figures"
    print(f"load average of the last minute: {load:.2f} on {os.cpu_count()} cores ({verdict})")


async def run(plan: Plan) -> list[Row]:
    """Run the phases that are asked for."""
    _say_load()
    folder = Path(tempfile.mkdtemp(prefix="sendonce-bench-"))
    folder.chmod(0o711)  # as root the server is another user, who must get through
    rows: list[Row] = []
    try:
        async with server(folder) as using:
            print(await version(using))
            for phase in dict.fromkeys(PHASES[name] for name in plan.only or PHASES):
                rows += await phase(plan, using, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rows


def main() -> None:
    """Parse, run, write, print."""
    parser = argparse.ArgumentParser(description="Measure Sendonce side by side with its peers.")
    parser.add_argument("--only", nargs="+", choices=list(PHASES), default=[], metavar="NAME", help=", ".join(PHASES))
    parser.add_argument("--quick", action="store_true", help="a tenth of the size: to see that it runs")
    arguments = parser.parse_args()
    rows = asyncio.run(run(Plan(arguments.only, arguments.quick)))
    write(rows, OUTPUT)
    print(f"\n{table(rows)}\n\n{OUTPUT}")
    _say_load()


if __name__ == "__main__":
    main()
