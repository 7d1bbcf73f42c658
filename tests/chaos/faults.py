"""What goes wrong: each event of a schedule, carried out on a stage.

In: an event. Out: the deed, and a mark of it for the judge. What lasts (a frozen worker, an outage) goes on in a task
of its own, so that faults overlap. What people order is in `orders.py`.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine

from tests.chaos import orders
from tests.chaos.proxy import Trap
from tests.chaos.scenario import Event
from tests.chaos.stage import Stage, now

Deed = Callable[[Stage, Event], Coroutine[None, None, None]]


async def kill(stage: Stage, event: Event) -> None:
    """SIGKILL."""
    member = stage.crew.member(event.values["worker"])
    stage.crew.signal(member, signal.SIGKILL)
    stage.story.mark("kill", now())


async def freeze(stage: Stage, event: Event) -> None:
    """SIGSTOP for longer than a lease, then SIGCONT."""
    member = stage.crew.member(event.values["worker"])
    if member.frozen is not None or not member.alive:
        return
    stage.crew.freeze(member)
    await asyncio.sleep(event.values["seconds"])
    stage.crew.thaw(member)


async def term(stage: Stage, event: Event) -> None:
    """SIGTERM, and again when a short grace is over."""
    member = stage.crew.member(event.values["worker"])
    begin = now()
    stage.crew.signal(member, signal.SIGTERM)
    await asyncio.sleep(event.values["grace"])
    stage.crew.signal(member, signal.SIGTERM)
    stage.story.mark("term", begin)


async def restart(stage: Stage, _: Event) -> None:
    """Crash PostgreSQL; it recovers from its log."""
    begin = now()
    stage.story.say("database: immediate restart")
    await stage.lane.server.restart(immediate=True)
    stage.story.say("database: up again")
    stage.story.mark("restart", begin, workers=stage.scenario.workers)


async def cut(stage: Stage, event: Event) -> None:
    """End the database connections of a worker, or of all."""
    whose = _whose(stage, event)
    ended = stage.proxy.cut(whose)
    stage.story.say(f"proxy: cut {ended} connections of {whose or 'everybody'}")
    stage.story.mark("cut", now(), workers=_hit(stage, event))


async def lose(stage: Stage, event: Event) -> None:
    """Lose the acknowledgement of commits."""
    values = event.values
    stage.proxy.arm(Trap("lose", _whose(stage, event), of=values["of"], times=values["times"]))


async def late(stage: Stage, event: Event) -> None:
    """Hold a worker's statements."""
    values = event.values
    stage.proxy.arm(Trap("late", _whose(stage, event), how=values["how"], seconds=values["seconds"]))


def _whose(stage: Stage, event: Event) -> str:
    worker = event.values["worker"]
    return "" if worker is None else stage.crew.member(worker).name


def _hit(stage: Stage, event: Event) -> int:
    return stage.scenario.workers if event.values["worker"] is None else 1


async def hang(stage: Stage, event: Event) -> None:
    """For a while, every hand-off is answered after the lease only, or never."""
    values, scenario = event.values, stage.scenario
    # what another event has just set is taken back too: chances must not add up to more than one
    others = dict.fromkeys([*scenario.chances, "hang", "slow", "stall"], 0.0)
    await stage.far_end.order({"chances": others | {values["fate"]: 1.0}, "hang_seconds": values["hang_seconds"]})
    await asyncio.sleep(values["seconds"])
    await stage.far_end.order({"reset": True})


async def outage(stage: Stage, event: Event) -> None:
    """The far end is down for a while, in one of several ways."""
    begin = now()
    await stage.far_end.order({"outage": event.values["outage"]})
    await asyncio.sleep(event.values["seconds"])
    await stage.far_end.order({"reset": True})
    if event.values["outage"] == "refuse":
        # existing connections are reset, with requests on them that the ledger never saw
        stage.story.mark("refuse", begin, workers=2 * stage.scenario.workers)


async def throttle(stage: Stage, event: Event) -> None:
    """The far end throttles everything."""
    await stage.far_end.order({"throttle_seconds": event.values["seconds"]})


DEEDS: dict[str, Deed] = {
    "kill": kill,
    "freeze": freeze,
    "term": term,
    "restart": restart,
    "cut": cut,
    "lose": lose,
    "late": late,
    "hang": hang,
    "outage": outage,
    "throttle": throttle,
    "suspend": orders.suspend,
    "cancel": orders.cancel,
    "deadline": orders.deadline,
    "opt_out": orders.opt_out,
    "retry": orders.retry,
    "resolve": orders.resolve,
}
