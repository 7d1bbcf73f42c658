"""One run: set up, let things go wrong, wait for the end, judge.

    stage → workers → events at their moments → the campaign ends → orders given afterwards → it ends again → evidence

In: a seed's scenario, a lane and a folder. Out: a `Verdict` with the story, whatever happened.
"""

from __future__ import annotations

import asyncio
import shutil
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

from tests.chaos import orders
from tests.chaos.evidence import Evidence, Violation, read_tables
from tests.chaos.faults import DEEDS
from tests.chaos.judge import judge
from tests.chaos.lane import Lane
from tests.chaos.scenario import Event, Scenario
from tests.chaos.stage import Stage, now, patiently, set_up
from tests.chaos.story import Story

from sendonce_cli.simulate.ledger import Ledger

_END_SECONDS = 90.0
_LOOK_SECONDS = 0.1
# an event whose moment does not come (everything stands still, say) happens anyway
_PATIENCE = 6.0
# drained; no store at its start; stopped at once; killed; SIGTERM before it was listened to
_LEGITIMATE = {0, 3, 143, -9, -15}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a run. `evidence` is None if the harness itself failed; `error` says how."""

    scenario: Scenario
    seconds: float
    violations: list[Violation]
    evidence: Evidence | None
    story: Story
    error: str | None = None

    @property
    def good(self) -> bool:
        """Whether every rule held."""
        return not self.violations and self.error is None


async def perform(scenario: Scenario, lane: Lane, folder: Path) -> Verdict:
    """Do one run; what it leaves in `folder` is the caller's to keep or remove."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    story, begin = Story(), now()
    try:
        async with set_up(scenario, lane, folder, story) as stage:
            evidence = await _play(stage)
    except Exception:  # noqa: BLE001 - a harness that fails tells the run's story all the same
        return Verdict(scenario, now() - begin, [], None, story, traceback.format_exc())
    violations = judge(evidence)
    return Verdict(scenario, now() - begin, violations, evidence, story)


async def _play(stage: Stage) -> Evidence:
    await stage.crew.start()
    lasting: set[asyncio.Task[None]] = set()
    events = asyncio.create_task(_events(stage, lasting))
    hung = not await _ended(stage, events, lasting)
    stage.proxy.disarm()
    for event in () if hung else stage.scenario.afterwards:
        await _afterwards(stage, event)
        hung = hung or not await _ended(stage, None, lasting)
    if hung:
        await _explain(stage)
    _mark_traps(stage)
    await stage.crew.stop()
    await stage.far_end.stop()
    return await _gather(stage, hung=hung)


async def _events(stage: Stage, lasting: set[asyncio.Task[None]]) -> None:
    for event in stage.scenario.events:
        if not await _moment(stage, event):
            return
        stage.story.say(f"EVENT {event}")
        lasting.add(asyncio.create_task(DEEDS[event.action](stage, event)))


async def _moment(stage: Stage, event: Event) -> bool:
    """Wait for an event's moment; False if the campaign has ended before."""
    begin = now()
    while now() - begin < _PATIENCE or not stage.far_end.hand_offs():
        campaign = await stage.campaign()
        if campaign["ended"] is not None:
            return False
        lines = campaign["total"] + campaign["duplicates"] + campaign["rejected"]
        reached = lines if event.importing else stage.far_end.hand_offs()
        whole = stage.people.lines if event.importing else len(stage.people.people)
        if reached >= max(1, event.at * whole):
            return True
        if now() - begin > _END_SECONDS:
            return False
        await asyncio.sleep(_LOOK_SECONDS)
    return True


async def _ended(stage: Stage, events: asyncio.Task[None] | None, lasting: set[asyncio.Task[None]]) -> bool:
    """Wait for the campaign's end, helping it as a person must; False after the longest time."""
    deadline, quiet = now() + _END_SECONDS, False
    while now() < deadline:
        for task in [task for task in lasting if task.done()]:
            lasting.discard(task)
            task.result()
        if events is not None and events.done():
            events.result()
        busy = bool(lasting) or not (events is None or events.done())
        if not busy and not quiet:
            quiet, deadline = True, now() + _END_SECONDS
            stage.proxy.disarm_when_idle()
        campaign = await stage.campaign()
        if campaign["ended"] is not None and not busy:
            stage.story.say(f"the campaign ended: {campaign['ended_reason']}: {campaign['ended_message']}")
            return True
        await _help(stage, campaign)
        await asyncio.sleep(_LOOK_SECONDS)
    return False


async def _help(stage: Stage, campaign: dict[str, object]) -> None:
    if campaign["ended"] is not None:
        return
    if campaign["halt_reason"] is not None:
        stage.story.say(f"stopped: {campaign['halt_reason']}: {campaign['halt_message']}")
        await orders.resume(stage)
    if campaign["rollout_stage"] == "awaiting":
        await orders.promote(stage)


async def _afterwards(stage: Stage, event: Event) -> None:
    """Orders after the end. Before a Resend the workers are replaced: nobody holds a message in hand then."""
    stage.story.say(f"EVENT {event}")
    if event.values.get("as") == "resend":
        await stage.crew.replace_all()
        await orders.forget_the_dead(stage, stage.crew.gone)
    await DEEDS[event.action](stage, event)


def _mark_traps(stage: Stage) -> None:
    for trap in stage.proxy.sprung:
        stage.story.mark(
            "held" if trap.kind == "late" and trap.how == "held" else trap.kind, trap.at, trap.at + trap.seconds
        )


_STANDING: tuple[LiteralString, ...] = (
    """SELECT id, kind, channel, stage, state, claimable_at::text, worker, crashes, claims, pending, sending
         FROM sendonce.batches WHERE state <> 'done'""",
    """SELECT application_name, state, wait_event, left(query, 100) AS query, xact_start
         FROM pg_stat_activity WHERE datname = current_database()""",
    "SELECT id, suspended, paused_until, pause_code, pauses_in_row, now() FROM sendonce.providers",
)


async def _explain(stage: Stage) -> None:
    stage.story.say("THE CAMPAIGN DID NOT END")
    async with stage.db() as conn:
        for statement in _STANDING:
            cursor = await conn.execute(statement)
            for row in await cursor.fetchall():
                stage.story.say(str(row))


def _ends(stage: Stage) -> Iterator[str]:
    return (f"worker {name} ended with {code}" for name, code in stage.crew.ends if code not in _LEGITIMATE)


def _tracebacks(stage: Stage) -> Iterator[str]:
    """A worker that goes on after an error that nobody expected is judged as one that ended by it."""
    for log in sorted(stage.folder.glob("worker-*.log")):
        found = log.read_text("utf-8", "replace").count("Traceback (most recent call last)")
        if found:
            yield f"{found} tracebacks in {log.name}"


async def _gather(stage: Stage, *, hung: bool) -> Evidence:
    async def read() -> dict[str, Any]:
        async with stage.db() as conn:
            return await read_tables(conn)

    tables = await patiently(read)
    return Evidence(
        scenario=stage.scenario,
        people=stage.people,
        ledger=Ledger.read(stage.far_end.ledger).rows,
        marks=tuple(stage.story.marks),
        wishes=tuple(stage.story.wishes),
        crashes=(*_ends(stage), *_tracebacks(stage)),
        hung=hung,
        **tables,
    )
