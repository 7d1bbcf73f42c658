"""Ten workers on one budget: never above rate·t + burst where the messages arrive, and nearly all of it used.

In: a server and how long. Out: two rows. The far end is our own sink, which notes the moment of each arrival.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import campaigns
from tests.bench.campaigns import FarEnd
from tests.bench.figures import Row
from tests.bench.processes import module, running
from tests.bench.server import Server
from tests.bench.sinks import free_port

WORKERS = 10
RATE = 500
BURST = 100
_BEGIN_SECONDS = 3.0  # until the last of ten workers is at work
_LISTEN_SECONDS = 1.0


async def measure(server: Server, folder: Path, seconds: float) -> list[Row]:
    """Send at full pace for a while, then look at the arrivals."""
    files = folder / "paced"
    campaigns.write_people(files, round(RATE * (seconds + _BEGIN_SECONDS + 1)) + BURST)
    port = free_port()
    limits = f"  limits: [{{messages: {RATE}, periodSeconds: 1, burst: {BURST}}}]\n"
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as moments:
        async with (
            server.database("bench_pace") as dsn,
            campaigns.connection(dsn) as conn,
            running(*module("tests.bench.own_sink", "http", str(port), moments.name)),
        ):
            await campaigns.adopt(conn, FarEnd(campaigns.HTTP, port, limits))
            env = campaigns.environment(dsn, files)
            await campaigns.imported(conn, env)
            await campaigns.send_imported(conn, env, WORKERS)
            await asyncio.sleep(_LISTEN_SECONDS)
        arrivals = [float(line) for line in moments.read().splitlines()]
    return rows_of(arrivals, seconds)


def rows_of(arrivals: Sequence[float], seconds: float) -> list[Row]:
    """Judge the arrivals, in seconds: all of them for the bound, the steady part for the use."""
    begin = arrivals[0] + _BEGIN_SECONDS
    steady = sum(1 for moment in arrivals if begin <= moment < begin + seconds)
    used = 100 * steady / (RATE * seconds)
    over = exceeded(arrivals, RATE, BURST)
    print(f"  {used:.1f} % of the pace used; above rate·t + burst by {over:.1f} messages", flush=True)
    return [Row("pace_used", used, "%", used / 100, f"{RATE}/s"), Row("pace_exceeded", over, "messages")]


def exceeded(arrivals: Sequence[float], rate: float, burst: float) -> float:
    """By how many messages the worst window of t seconds is above rate·t + burst; 0.0 where none is."""
    level, last, worst = 0.0, arrivals[0], 0.0
    for moment in sorted(arrivals):
        level = max(0.0, level - (moment - last) * rate) + 1
        last = moment
        worst = max(worst, level - burst)
    return worst
