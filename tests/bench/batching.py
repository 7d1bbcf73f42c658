"""What several mails in one request bring: Postmark's batches beside a mail API that takes them one by one.

In: a server, a far end that answers as both do, how many rounds. Out: rows. The API without batches is SendGrid's: its
requests are of the same kind and size, and neither knows keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.bench.campaigns import FarEnd
from tests.bench.figures import Row, middle
from tests.bench.sending import Contest, Run, Scale
from tests.bench.server import Server
from tests.bench.sinks import Sink

ONE_BY_ONE, BATCH, LARGE_BATCH = "mail_api_one_by_one", "postmark_batch", "postmark_batch_500"
_SEND_GRID = """
  type: SendGrid
  sendGrid: {{baseURL: "http://127.0.0.1:{port}"}}
  credentialsSecretRef: {{name: api}}
"""
_POSTMARK = """
  type: Postmark
  postmark: {{baseURL: "http://127.0.0.1:{port}"}}
  credentialsSecretRef: {{name: api}}
  maxInFlight: 500
"""


async def measure(server: Server, sink: Sink, folder: Path, scale: Scale) -> list[Row]:
    """The rate with 50 in flight, in batches and one by one, and with 500 in flight."""
    token, key, port = {"serverToken": "a-token"}, {"apiKey": "a-key"}, sink.port
    far_ends = {
        ONE_BY_ONE: FarEnd(_SEND_GRID, port, database="bench_one_by_one", secrets=key),
        BATCH: FarEnd(_POSTMARK, port, database="bench_batch", secrets=token),
        LARGE_BATCH: FarEnd(_POSTMARK, port, database="bench_large_batch", secrets=token, in_flight=500),
    }
    contests = {name: Contest(server, sink, far_end, folder, scale) for name, far_end in far_ends.items()}
    async with AsyncExitStack() as stack:
        for contest in contests.values():
            await stack.enter_async_context(server.database(contest.database))
            await contest.prepare()
        for _ in range(scale.rounds):
            for name, contest in contests.items():
                await contest.ours(name, 1)
    return [
        row
        for name in contests
        for row in _rows(name, contests[name].runs[name], contests[ONE_BY_ONE].runs[ONE_BY_ONE])
    ]


def _rows(name: str, mine: Sequence[Run], alone: Sequence[Run]) -> list[Row]:
    rate, cpu = middle(run.rate for run in mine), middle(run.cpu["worker"] for run in mine)
    ratio = middle(a.rate / b.rate for a, b in zip(mine, alone, strict=True))
    compared = Row(name, rate, "deliveries/s", ratio, "one request each, 50 in flight")
    row = Row(name, rate, "deliveries/s") if name == ONE_BY_ONE else compared
    return [row, Row(f"{name}_cpu_worker", cpu, "CPU s per 1,000")]
