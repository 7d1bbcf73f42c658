"""The demo from its first to its last line.

make the list → start the far end → `sendonce run`, as anybody would → kill a worker at 40 % and another at 70 % → wait
for the end → hold the store against the far end's ledger → exit 0 only if the proof holds
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sendonce_cli.demo.far_end import FarEnd, far_end
from sendonce_cli.demo.proof import Expected, prove
from sendonce_cli.demo.readers import Readers, make_readers
from sendonce_cli.demo.report import report
from sendonce_cli.demo.saboteur import Kill, sabotage
from sendonce_cli.options import StoreChoice
from sendonce_cli.output import console
from sendonce_cli.simulate.ledger import Ledger
from sendonce_cli.stores import Store
from sendonce_store import ledger
from sendonce_store.ledger import DeliveryLine
from sendonce_store.standing import Overview

NAMESPACE, SEND_KEY = "default", "demo"
SHARES = (0.4, 0.7)
PAGE = 1000
# exit codes of `sendonce run`: all sent, some were not (which the far end sees to)
RAN = (0, 1)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the demo takes place: the examples it runs, and a folder for everything it makes."""

    examples: Path
    folder: Path

    @property
    def store(self) -> StoreChoice:
        """An embedded PostgreSQL of its own."""
        return StoreChoice(None, self.folder / "store", NAMESPACE)


async def show(examples: Path, people: int, seed: int) -> int:
    """Run the demo; returns the exit code."""
    began = time.monotonic()
    readers = make_readers(people, seed)
    with _stage(examples) as stage:
        ledger_file = stage.folder / "far-end.ndjson"
        async with Store(stage.store) as store:
            await store.migrate()
            with far_end(ledger_file, seed) as end:
                lay_out(stage, readers, end)
                await _opt_out(stage, readers)
                code, kills = await _run(stage, await store.dsn())
            deliveries, seen = await _read(store)
        truth = Ledger.read(ledger_file)
    proof = prove(deliveries, truth, seen, _expected(readers))
    console().print(report(proof, truth, kills, time.monotonic() - began))
    return 0 if proof.holds and code in RAN and len(kills) == len(SHARES) else 1


@contextmanager
def _stage(examples: Path) -> Iterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="sendonce-demo-") as folder:
        Path(folder).chmod(0o711)  # as root, PostgreSQL runs as somebody else, who has to get through
        yield Stage(examples, Path(folder))


def lay_out(stage: Stage, readers: Readers, end: FarEnd) -> None:
    """Write the list where a mounted ConfigMap would have it, and the providers with the far end's ports."""
    folder = stage.folder / "configmaps" / "readers"
    folder.mkdir(parents=True)
    (folder / "readers.csv").write_text(readers.text, "utf-8")
    providers = (stage.examples / "providers.yaml").read_text("utf-8")
    providers = providers.replace("127.0.0.1:8080", f"127.0.0.1:{end.http}").replace("port: 2525", f"port: {end.smtp}")
    (stage.folder / "providers.yaml").write_text(providers, "utf-8")
    opt_outs = "".join(f"Email,{address},Marketing,newsletter\n" for address in readers.opted_out)
    (stage.folder / "opt-outs.csv").write_text("channel,address,category,topic\n" + opt_outs, "utf-8")


async def _opt_out(stage: Stage, readers: Readers) -> None:
    """A few people have left the newsletter before it is sent."""
    console().print(f"{len(readers.opted_out)} people have opted out of the newsletter")
    process = await _sendonce(stage, "suppress", "import", "--opt-out", str(stage.folder / "opt-outs.csv"))
    if await process.wait():
        raise RuntimeError("the opt-outs could not be imported")


async def _run(stage: Stage, dsn: str) -> tuple[int, list[Kill]]:
    """`sendonce run` in a process of its own, and the saboteur beside it."""
    files = [str(stage.examples / "campaign.yaml"), "--provider", str(stage.folder / "providers.yaml")]
    settings = ["--files", str(stage.folder), "--workers", "3", "--heartbeat", "1", "--every", "2", "--wait"]
    process = await _sendonce(stage, "run", *files, *settings)
    saboteur = asyncio.create_task(sabotage(dsn, NAMESPACE, SEND_KEY, process.pid, SHARES))
    code = await process.wait()
    saboteur.cancel()
    kills = await asyncio.gather(saboteur, return_exceptions=True)
    return code, [kill for done in kills if isinstance(done, list) for kill in done]


async def _sendonce(stage: Stage, command: str, *arguments: str) -> asyncio.subprocess.Process:
    # the saboteur looks for workers among the children of this very process, so no shell stands between
    program = [sys.executable, "-m", "sendonce_cli", command, *arguments, "--data", str(stage.store.data)]
    return await asyncio.create_subprocess_exec(*program)


async def _read(store: Store) -> tuple[list[DeliveryLine], Overview]:
    async with store.connection() as conn:
        campaign_id = await ledger.find_send_key(conn, NAMESPACE, SEND_KEY)
        seen = await ledger.overview(conn, NAMESPACE, campaign_id) if campaign_id else None
        if campaign_id is None or seen is None:
            raise RuntimeError("the demo's campaign is not in the store")
        deliveries: list[DeliveryLine] = []
        place = (0, 0)
        while page := await ledger.deliveries(conn, campaign_id, after=place, limit=PAGE):
            deliveries += page
            place = (page[-1].batch_id, page[-1].no)
    return deliveries, seen


def _expected(readers: Readers) -> Expected:
    return Expected(readers.lines, readers.people, readers.duplicates, readers.broken)
