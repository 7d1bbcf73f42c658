"""HTTP and SMTP, end to end, beside the bare loops: A B A B, and the medians of the ratios.

In: a server, a far end, how many rounds. Out: rows. Each run of ours stands between two runs of the bare loop and is
compared with the mean of those two, so that a machine that gets slower or faster does not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import campaigns
from tests.bench.campaigns import FarEnd
from tests.bench.figures import Row, middle
from tests.bench.processes import ask
from tests.bench.server import Server
from tests.bench.sinks import Sink

PER_THOUSAND = 1000.0


@dataclass(frozen=True, slots=True)
class Scale:
    """How long: rounds, recipients of each run of ours, seconds of each bare loop, jobs of procrastinate."""

    rounds: int
    recipients: int
    seconds: float
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One run: messages per second, and CPU seconds per 1,000 messages by part."""

    rate: float
    cpu: dict[str, float]


class Contest:
    """Ours against one bare loop, over one sink."""

    def __init__(self, server: Server, sink: Sink, far_end: FarEnd, folder: Path, scale: Scale) -> None:
        """`folder` gets the recipients' file."""
        self._server = server
        self._sink = sink
        self._far_end = far_end
        self._files = folder / far_end.database
        self._scale = scale
        self.runs: dict[str, list[Run]] = defaultdict(list)
        self.ratios: dict[str, list[float]] = defaultdict(list)

    @property
    def database(self) -> str:
        """Where the imported campaign is kept."""
        return self._far_end.database

    async def prepare(self) -> None:
        """Import the campaign once; each run gets a copy."""
        campaigns.write_people(self._files, self._scale.recipients, self._far_end.variables)
        campaigns.write_secrets(self._files, self._far_end.secrets)
        async with campaigns.connection(self._server.dsn(self._far_end.database)) as conn:
            await campaigns.adopt(conn, self._far_end)
            await campaigns.imported(conn, self._environment(self._far_end.database))

    def _environment(self, database: str) -> dict[str, str]:
        in_flight = str(self._far_end.in_flight)
        return campaigns.environment(self._server.dsn(database), self._files, SENDONCE_CONCURRENCY=in_flight)

    async def bare(self, name: str) -> Run:
        """One run of a bare loop."""
        before = self._sink.cpu()
        answer = await ask("tests.bench.baselines", name, str(self._sink.port), str(self._scale.seconds))
        count = answer["count"]
        # the sink also served the warm-up: its share is by time
        sink = (self._sink.cpu() - before) * answer["seconds"] / (answer["seconds"] + 1.0)
        return self._keep(name, count, answer["seconds"], {"worker": answer["cpu"], "sink": sink})

    async def ours(self, name: str, workers: int) -> Run:
        """One run of ours on a fresh copy of the imported campaign."""
        async with (
            self._server.database("bench_run", template=self._far_end.database) as dsn,
            campaigns.connection(dsn) as conn,
        ):
            postgres, sink = self._server.cpu(), self._sink.cpu()
            sent = await campaigns.send_imported(conn, self._environment("bench_run"), workers)
            cpu = {"worker": sent.cpu, "postgres": self._server.cpu() - postgres, "sink": self._sink.cpu() - sink}
        return self._keep(name, sent.deliveries, sent.seconds, cpu, self._scale.recipients)

    async def procrastinate(self, name: str) -> Run:
        """One run of procrastinate."""
        jobs = str(self._scale.jobs)
        async with self._server.database("bench_peer", ours=False) as dsn:
            await ask("tests.bench.procrastinate_peer", "defer", dsn, jobs)
            postgres = self._server.cpu()
            answer = await ask("tests.bench.procrastinate_peer", "work", dsn, str(self._sink.port))
            [[count, seconds]] = await self._server.execute(_JOBS_SPAN, "bench_peer")
        cpu = {"worker": answer["cpu"], "postgres": self._server.cpu() - postgres}
        return self._keep(name, count, float(seconds), cpu)

    def _keep(self, name: str, count: int, seconds: float, cpu: dict[str, float], base: int | None = None) -> Run:
        each = {part: used / (base or count) * PER_THOUSAND for part, used in cpu.items()}
        run = Run(count / seconds, each)
        self.runs[name].append(run)
        print(f"  {name:24} {run.rate:9,.0f}/s   CPU s per 1,000: {_parts(each)}", flush=True)
        return run

    async def compete(self, loop: str, entries: Sequence[tuple[str, int]]) -> None:
        """One round: the loop, ours with one, the loop, ours with two, the loop."""
        before = await self.bare(loop)
        for name, workers in entries:
            mine = await self.ours(name, workers)
            after = await self.bare(loop)
            self.ratios[name].append(mine.rate / ((before.rate + after.rate) / 2))
            before = after

    def rows(self, loop: str, entries: Sequence[tuple[str, int]]) -> list[Row]:
        """The medians of all rounds."""
        found = [
            Row(name, self.rate(name), "deliveries/s", middle(self.ratios[name]), f"bare {loop} loop")
            for name, _ in entries
        ]
        others = [name for name in self.runs if name not in dict(entries)]
        found += [Row(f"bare_{name}", self.rate(name), "messages/s") for name in others if name != "procrastinate"]
        return found + self._cpu_rows()

    def rate(self, name: str) -> float:
        """The median rate of one entry."""
        return middle(run.rate for run in self.runs[name])

    def _cpu_rows(self) -> list[Row]:
        return [
            Row(f"{name}_cpu_{part}", middle(run.cpu[part] for run in runs), "CPU s per 1,000")
            for name, runs in self.runs.items()
            for part in runs[0].cpu
        ]


def _parts(cpu: dict[str, float]) -> str:
    return ", ".join(f"{part} {used:.3f}" for part, used in cpu.items())


_JOBS_SPAN = """
SELECT count(*) FILTER (WHERE type = 'succeeded'),
       extract(epoch FROM max(at) FILTER (WHERE type = 'succeeded') - min(at) FILTER (WHERE type = 'started'))
  FROM procrastinate_events
"""

HTTP_ENTRIES = (("http_one_worker", 1), ("http_two_workers", 2))
SMTP_ENTRIES = (("smtp_one_worker", 1), ("smtp_two_workers", 2))


async def http(server: Server, sink: Sink, folder: Path, scale: Scale) -> list[Row]:
    """All HTTP rows."""
    contest = Contest(server, sink, FarEnd(campaigns.HTTP, sink.port), folder, scale)
    async with server.database(contest.database):
        await contest.prepare()
        against: list[float] = []
        for _ in range(scale.rounds):
            await contest.compete("aiohttp", HTTP_ENTRIES)
            peer = await contest.procrastinate("procrastinate")
            against.append(contest.runs["http_one_worker"][-1].rate / peer.rate)
            await contest.bare("our_client")
        await contest.bare("pyreqwest")
        await contest.bare("aiohttp_uvloop")
    peer_row = Row(
        "http_vs_procrastinate", contest.rate("procrastinate"), "jobs/s", middle(against), "procrastinate, one worker"
    )
    return [*contest.rows("aiohttp", HTTP_ENTRIES), peer_row]


async def smtp(server: Server, sink: Sink, folder: Path, scale: Scale) -> list[Row]:
    """All SMTP rows."""
    contest = Contest(server, sink, FarEnd(campaigns.SMTP, sink.port), folder, scale)
    async with server.database(contest.database):
        await contest.prepare()
        for _ in range(scale.rounds):
            await contest.compete("aiosmtplib", SMTP_ENTRIES)
    return contest.rows("aiosmtplib", SMTP_ENTRIES)
