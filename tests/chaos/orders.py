"""What people order while a campaign runs, or after its end; each order is noted as a wish for the judge.

In: an event. Out: the order, given to the store as the command line gives it, again if the database was away.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from tests.chaos.scenario import PATIENCE, Event
from tests.chaos.stage import Stage, now, patiently
from tests.chaos.story import Wish

from sendonce_store import actions, consent
from sendonce_store.actions import Applied, Order, Selection


async def suspend(stage: Stage, event: Event) -> None:
    """Suspend, and resume after a while. Two people at it would undo each other's wish."""
    if stage.suspended:
        return
    stage.suspended = True
    asked = now()
    await _suspend(stage, suspended=True)
    done = now()
    stage.story.say("person: suspend")
    await asyncio.sleep(event.values["seconds"])
    undone = now()
    stage.story.say("person: resume")
    await _suspend(stage, suspended=False)
    stage.suspended = False
    stage.story.wishes.append(Wish("suspend", asked, done, undone))


async def _suspend(stage: Stage, *, suspended: bool) -> None:
    async def act() -> None:
        async with stage.db() as conn:
            await actions.suspend(conn, stage.target.campaign_id, suspended=suspended)

    await patiently(act)


async def cancel(stage: Stage, _: Event) -> None:
    """Cancel, for good."""
    stage.story.say("person: cancel")
    asked = now()

    async def act() -> int:
        async with stage.db() as conn:
            return await actions.cancel(conn, stage.target.campaign_id)

    changed = await patiently(act)
    stage.story.wishes.append(Wish("cancel", asked, now()))
    stage.story.say(f"person: cancelled {changed} deliveries")


async def deadline(stage: Stage, event: Event) -> None:
    """Move the deadline to a moment soon; it may change while a campaign runs."""
    stage.story.say("person: sets a deadline")

    async def act() -> None:
        async with stage.db() as conn:
            await conn.execute(
                "UPDATE sendonce.campaigns SET deadline = now() + make_interval(secs => %s)", [event.values["seconds"]]
            )

    asked = now()
    await patiently(act)
    stage.story.wishes.append(Wish("deadline", asked, now()))


async def opt_out(stage: Stage, event: Event) -> None:
    """Some people opt out."""
    rng = random.Random(f"{stage.scenario.seed} {event.at}")
    people = rng.sample(stage.people.people, min(event.values["people"], len(stage.people.people)))
    channels = {"Email": [p.email for p in people if p.email], "SMS": [p.phone for p in people if p.phone]}
    rows = [consent.OptOut(channel, address, "Marketing") for channel, found in channels.items() for address in found]
    asked = now()

    async def act() -> int:
        async with stage.db() as conn:
            return await consent.opt_out(conn, stage.target.namespace, rows)

    await patiently(act)
    stage.story.wishes.append(Wish("opt_out", asked, now(), addresses=frozenset(row.address for row in rows)))
    stage.story.say(f"person: {len(people)} people opted out: {sorted(row.address for row in rows)}")


async def retry(stage: Stage, _: Event) -> None:
    """Retry dead letters that were certainly not accepted."""
    await _apply(stage, "Retry", Selection(states=("failed", "expired")))


async def resolve(stage: Stage, event: Event) -> None:
    """Resolve what is uncertain. A Resend while workers run takes rows whose attempt ended under somebody's eyes."""
    wanted: str = event.values["as"]
    running = event.at < 1
    reasons = ("unknown_outcome",) if wanted == "resend" and running else None
    await _apply(stage, "Resolve", Selection(states=("uncertain",), reasons=reasons), wanted)


async def resume(stage: Stage) -> None:
    """Let a stopped campaign go on."""
    await _apply(stage, "Resume", Selection())


async def promote(stage: Stage) -> None:
    """Let the rest follow the canary."""
    await _apply(stage, "Promote", Selection())


async def _apply(stage: Stage, kind: str, selection: Selection, resolve_as: str | None = None) -> Applied:
    stage.orders += 1
    order = Order(f"order-{stage.orders}", kind, selection, resolve_as, PATIENCE)
    asked = now()

    async def act() -> Applied:
        async with stage.db() as conn:
            return await actions.apply(conn, stage.target, order)

    applied: Applied = await patiently(act)
    stage.story.wishes.append(Wish(kind.lower(), asked, now(), detail=resolve_as or ""))
    stage.story.say(f"person: {kind} {resolve_as or ''}: {applied.message}")
    return applied


async def forget_the_dead(stage: Stage, names: Sequence[str]) -> None:
    """Tell the store which workers are gone for certain, as whoever sees their processes end does."""

    async def act() -> None:
        async with stage.db() as conn:
            await conn.execute("UPDATE sendonce.workers SET stopped_at = now() WHERE id = ANY (%s)", [list(names)])

    await patiently(act)
