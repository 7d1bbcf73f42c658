"""Moves a campaign as a whole: reads its counts, asks `decisions.decide`, does the step, until nothing is left to do.

Whoever comes by may conduct (every worker does, about once a second; the operator may too): the campaign row's lock
makes it one at a time, and each step is done from the state it finds, so that a conductor that dies is no loss. An
import that nobody holds any more is put before all that is due.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sendonce_store.connection import Connection
from sendonce_store.decisions import Facts, Kind, Policy, Step, decide, verdict
from sendonce_store.fallbacks import add_fallbacks
from sendonce_store.queries import load

SQL = load("conduct")
STREAM_SQL = load("stream")
CANARY_BATCH = 500
# steps that a single call may do: more would mean that a decision undoes itself
MOST_STEPS = 8
_FACT_NAMES = [field.name for field in fields(Facts)]


async def read_facts(conn: Connection, campaign_id: int) -> Facts | None:
    """The campaign's counts now; None when there is no such campaign."""
    cursor = await conn.execute(SQL["facts"], {"campaign": campaign_id})
    row = await cursor.fetchone()
    return None if row is None else facts_of(row)


def facts_of(row: Mapping[str, Any]) -> Facts:
    """The `facts` statement's row as Facts."""
    return Facts(**{name: row[name] for name in _FACT_NAMES})


async def conduct(conn: Connection, campaign_id: int, policy: Policy) -> list[Step]:
    """Do what is to be done now; returns the steps. Nothing when another conductor is at it."""
    await conn.execute(SQL["import_first"], {"campaign": campaign_id})
    done: list[Step] = []
    while len(done) < MOST_STEPS:
        step = await _one_step(conn, campaign_id, policy)
        if step is None:
            break
        done.append(step)
        if step.kind is Kind.SETTLE:
            await settle(conn, campaign_id, step.detail, step.reason)
    return done


async def _one_step(conn: Connection, campaign_id: int, policy: Policy) -> Step | None:
    async with conn.transaction():
        cursor = await conn.execute(SQL["try_lock"], {"campaign": campaign_id})
        if await cursor.fetchone() is None:
            return None
        facts = await read_facts(conn, campaign_id)
        step = decide(facts, policy) if facts else None
        if step is None or not await _do(conn, campaign_id, step):
            return None
        return step


async def _do(conn: Connection, campaign_id: int, step: Step) -> bool:
    """Do one step under the campaign's lock; False when it turned out not to be due."""
    campaign = {"campaign": campaign_id}
    match step.kind:
        case Kind.RELEASE:
            await conn.execute(SQL["lift_hold"], campaign)
            await conn.execute(SQL["release_held"], campaign)
        case Kind.START_CANARY:
            await _start_canary(conn, campaign_id, step.people)
        case Kind.STAGE:
            await conn.execute(SQL["set_stage"], campaign | {"stage": step.detail})
        case Kind.PROMOTE:
            await promote(conn, campaign_id)
        case Kind.HALT:
            await conn.execute(SQL["halt"], campaign | {"reason": step.reason, "message": step.message})
        case Kind.DRAIN:
            return await _drain(conn, campaign_id)
        case Kind.END:
            return await _end(conn, campaign_id, step)
        case Kind.SETTLE:
            pass  # batch by batch, outside this transaction: the lock order is batch before campaign
    return True


async def promote(conn: Connection, campaign_id: int) -> None:
    """Let the rest follow the canary."""
    await conn.execute(SQL["set_stage"], {"campaign": campaign_id, "stage": "promoted"})
    await conn.execute(SQL["release_held"], {"campaign": campaign_id})


async def _start_canary(conn: Connection, campaign_id: int, people: int) -> None:
    parameters = {"campaign": campaign_id, "people": people, "size": CANARY_BATCH, "stage": "canary"}
    for name in (
        "canary_people",
        "canary_batches",
        "insert_canary_batches",
        "move_canary_rows",
        "drop_emptied_batches",
        "set_stage",
    ):
        await conn.execute(SQL[name], parameters)


async def _end(conn: Connection, campaign_id: int, step: Step) -> bool:
    campaign = {"campaign": campaign_id}
    cursor = await conn.execute(SQL["count_open_rows"], campaign)
    row = await cursor.fetchone()
    if row is None or row["open"]:
        return False
    await conn.execute(SQL["end_imports"], campaign)
    ended = {"ended": step.detail, "reason": step.reason, "message": step.message}
    await conn.execute(SQL["end_campaign"], campaign | ended)
    return True


async def _drain(conn: Connection, campaign_id: int) -> bool:
    """End a stream's import, unless a transaction is open that may still add somebody."""
    campaign = {"campaign": campaign_id}
    cursor = await conn.execute(STREAM_SQL["lock_stream"], campaign)
    if await cursor.fetchone() is None:
        return False
    cursor = await conn.execute(STREAM_SQL["finish"], campaign)
    return await cursor.fetchone() is not None


async def tell_again(conn: Connection, campaign_id: int) -> None:
    """After rows of a finished campaign changed without being opened: its end says what is true now."""
    facts = await read_facts(conn, campaign_id)
    if facts is not None and facts.ended == "complete":
        reason, message = verdict(facts)
        await conn.execute(SQL["tell_end"], {"campaign": campaign_id, "reason": reason, "message": message})


async def settle(conn: Connection, campaign_id: int, state: str, reason: str) -> int:
    """End every pending row as `state`, a batch at a time under its lock; returns the number of rows."""
    changed, after = 0, 0
    while True:
        asked = {"campaign": campaign_id, "after": after}
        cursor = await conn.execute(SQL["open_batches"], asked)
        batches = [row["id"] for row in await cursor.fetchall()]
        if not batches:
            return changed
        for batch in batches:
            changed += await settle_batch(conn, campaign_id, batch, state, reason)
        after = batches[-1]


async def settle_batch(conn: Connection, campaign_id: int, batch: int, state: str, reason: str) -> int:
    """End the pending rows of one batch; what falls back from them goes on over the next channel."""
    parameters = {"campaign": campaign_id, "batch": batch, "state": state, "reason": reason}
    async with conn.transaction():
        await conn.execute(SQL["lock_batch"], parameters)
        cursor = await conn.execute(SQL["settle_pending"], parameters)
        if state != "cancelled":
            await add_fallbacks(conn, campaign_id, batch)
        await conn.execute(SQL["close_settled"], parameters)
    return cursor.rowcount
