"""The queue as a worker sees it: claim a batch, take turns on it, release it.

A *turn* is one transaction behind the batch's lease: the results of finished hand-offs go in, rows that end or wait
without a hand-off are settled, and the next group comes back committed as `sending`. It is one call of one function,
with what is rare behind it in one pipeline, so a turn costs one round trip. Any guard that fails raises LeaseLostError
and nothing of the turn holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import args_row

from sendonce_store.array_literals import numbers, octets, texts, words
from sendonce_store.capping import Statement, capping
from sendonce_store.conduct import tell_again
from sendonce_store.connection import Connection
from sendonce_store.parking import MAX_CRASHES, park
from sendonce_store.queries import load
from sendonce_store.rows import (
    Batch,
    Fallback,
    Holder,
    Repeats,
    Result,
    Row,
    Started,
    Terms,
    Turn,
    TurnOutcome,
    Unsent,
)

SQL = load("queue")
FALLBACK_SQL = load("fallbacks")
LEASE_LOST = "SO001"


class LeaseLostError(Exception):
    """Somebody else may hold the batch: stop handing off at once. What is in flight becomes late evidence."""


async def claim(
    conn: Connection, holder: Holder, token: UUID, lease: float, repeats: Mapping[str, Repeats]
) -> Batch | None:
    """Claim one due batch and settle what a holder before left in `sending`. None: nothing is due, or it was parked."""
    async with conn.transaction():
        cursor = await conn.execute(
            SQL["claim"],
            {"token": token, "worker": holder.worker, "lease": lease, "campaign": holder.campaign_id},
        )
        found = await cursor.fetchone()
        if found is None:
            return None
        batch = _batch(found, token)
        if batch.kind == "send" and batch.channel is not None:
            await recover(conn, batch, repeats[batch.channel])
        if batch.crashes >= MAX_CRASHES:
            await park(conn, batch, holder)
            return None
    return batch


def _batch(row: Mapping[str, Any], token: UUID) -> Batch:
    return Batch(
        row["id"],
        token,
        row["kind"],
        row["channel"],
        row["provider_id"],
        row["cursor"],
        row["crashes"],
        row["claims"],
    )


async def recover(conn: Connection, batch: Batch, repeats: Repeats) -> int:
    """Settle rows in `sending` that no living holder of this batch has in its hands; returns how many."""
    cursor = await conn.execute(SQL["recover"], {"batch": batch.id} | repeats.parameters())
    row = await cursor.fetchone()
    return int(row["recovered"]) if row else 0


async def due_rows(conn: Connection, batch: Batch) -> list[Row]:
    """Read what is due of the batch, in order."""
    cursor = conn.cursor(row_factory=args_row(Row))
    await cursor.execute(SQL["due_rows"], {"batch": batch.id})
    return await cursor.fetchall()


async def take_turn(conn: Connection, batch: Batch, holder: Holder, turn: Turn, terms: Terms) -> TurnOutcome:
    """Do one turn. Raises LeaseLostError, and psycopg.Error when its fate is unknown (then `reread`)."""
    statements = _rare_statements(batch, holder, turn, terms)
    before, after = capping(batch, turn) if terms.capped else ([], [])
    parameters = _turn_columns(batch, holder, turn, terms.repeats)
    try:
        if not (statements or before):
            return _outcome(await _one(conn, SQL["take_turn"], parameters), {})
        return await _turn_with_more(conn, parameters, before, [*after, *statements])
    except psycopg.Error as error:
        if conn.info.transaction_status is TransactionStatus.INERROR:
            await conn.rollback()
        raise_if_lease_lost(error)
        raise


async def _one(conn: Connection, statement: LiteralString, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return await _row_of(await conn.execute(statement, parameters))


async def _row_of(cursor: psycopg.AsyncCursor[dict[str, Any]]) -> dict[str, Any]:
    row = await cursor.fetchone()
    if row is None:
        message = "the server answered with no row where there is always one"
        raise psycopg.InternalError(message)
    return row


async def _turn_with_more(
    conn: Connection, parameters: Mapping[str, Any], before: Sequence[Statement], after: Sequence[Statement]
) -> TurnOutcome:
    """The turn and what is rare in it, in one transaction and one round trip."""
    async with conn.pipeline():
        # by hand: the library's own transaction waits for the server three times
        await conn.execute("BEGIN")
        others = [await conn.execute(*statement) for statement in before]
        turn = await conn.execute(SQL["take_turn"], parameters)
        others += [await conn.execute(*statement) for statement in after]
        await conn.execute("COMMIT")
    row = await _row_of(turn)
    ended = [one for cursor in others if cursor.description for one in await cursor.fetchall()]
    return _outcome(row, {one["no"]: one["state"] for one in ended if "no" in one})


def raise_if_lease_lost(error: psycopg.Error) -> None:
    """Turn the guard's own error into LeaseLostError."""
    if error.sqlstate == LEASE_LOST:
        raise LeaseLostError(str(error)) from error


def _rare_statements(batch: Batch, holder: Holder, turn: Turn, terms: Terms) -> list[Statement]:
    """What most turns do without. Behind the turn itself: a fallback goes on from rows that ended in it."""
    here = {"batch": batch.id}
    statements: list[Statement] = []
    if turn.unsent:
        statements.append((SQL["settle_unsent"], here | _unsent_columns(turn.unsent)))
    noted = [result for result in turn.results if result.outcome is not None]
    if noted:
        writer = {"namespace": holder.namespace, "campaign": holder.campaign_id, "worker": holder.worker}
        statements.append((SQL["note_attempts"], here | writer | _attempt_columns(noted)))
    for fallback in terms.fallbacks:
        columns = _fallback_columns(batch, fallback)
        statements += [(FALLBACK_SQL["fallback_batch"], columns), (FALLBACK_SQL["fallback_rows"], columns)]
    return statements


def _fallback_columns(batch: Batch, fallback: Fallback) -> dict[str, Any]:
    return {
        "batch": batch.id,
        "channel": fallback.channel,
        "provider": fallback.provider_id,
        "states": list(fallback.states),
        "usual": fallback.usual,
    }


def _turn_columns(batch: Batch, holder: Holder, turn: Turn, repeats: Repeats) -> dict[str, Any]:
    return {
        "batch": batch.id,
        "token": batch.token,
        "lease": turn.lease,
        "worker": holder.worker,
        "flowing": turn.flowing and any(result.state == "sent" for result in turn.results),
        **_result_columns(turn.results),
        "group": numbers(no for no, _ in turn.group),
        "digests": octets(digest for _, digest in turn.group),
        **repeats.parameters(),
    }


def _outcome(row: Mapping[str, Any], settled: Mapping[int, str]) -> TurnOutcome:
    first = [Started(no, "sending", None, 1, row["began"], maybe_accepted=False) for no in row["first_nos"] or ()]
    return TurnOutcome(
        unwritten=frozenset(row["unwritten"] or ()),
        settled=settled,
        started=first + [_started(one) for one in row["others"] or ()],
        stopped=bool(row["stopped"]),
        paused=bool(row["paused"]),
        recovering=bool(row["recovering"]),
    )


def _started(row: Sequence[Any]) -> Started:
    no, state, reason, seq, first_attempt_at, maybe_accepted = row
    at = first_attempt_at and datetime.fromisoformat(first_attempt_at)
    return Started(no, state, reason, seq, at, maybe_accepted)


def _result_columns(results: Sequence[Result]) -> dict[str, Any]:
    return {
        "nos": numbers(r.no for r in results),
        "seqs": numbers(r.seq for r in results),
        "states": words(r.state for r in results),
        "reasons": texts(r.reason for r in results),
        "codes": texts(r.code for r in results),
        "errors": texts(r.error for r in results),
        "message_ids": texts(r.message_id for r in results),
        "delays": numbers(r.delay for r in results),
        "unknowns": numbers(r.unknown for r in results),
        "used": numbers(r.used for r in results),
    }


def _attempt_columns(results: Sequence[Result]) -> dict[str, list[Any]]:
    return {
        "nos": [r.no for r in results],
        "seqs": [r.seq for r in results],
        "outcomes": [r.outcome or "accepted" for r in results],
        "codes": [r.code for r in results],
        "messages": [r.error for r in results],
    }


def _unsent_columns(rows: Sequence[Unsent]) -> dict[str, list[Any]]:
    return {
        "nos": [r.no for r in rows],
        "states": [r.state for r in rows],
        "reasons": [r.reason for r in rows],
        "codes": [r.code for r in rows],
        "errors": [r.error for r in rows],
        "delays": [r.delay for r in rows],
    }


async def renew(conn: Connection, batch: Batch, lease: float) -> None:
    """Make the lease last `lease` seconds from now. Raises LeaseLostError."""
    cursor = await conn.execute(SQL["renew"], {"batch": batch.id, "token": batch.token, "lease": lease})
    if await cursor.fetchone() is None:
        message = f"the lease of batch {batch.id} is lost"
        raise LeaseLostError(message)


async def release(conn: Connection, batch: Batch) -> str:
    """Let the batch go; returns `done` or `pending`, as its rows say. Raises LeaseLostError."""
    try:
        async with conn.transaction():
            await conn.execute(SQL["hold_lease"], {"batch": batch.id, "token": batch.token})
            cursor = await conn.execute(SQL["release"], {"batch": batch.id, "token": batch.token})
            row = await cursor.fetchone()
    except psycopg.Error as error:
        raise_if_lease_lost(error)
        raise
    return str(row["state"]) if row else "pending"


async def reread(conn: Connection, batch: Batch, nos: Sequence[int]) -> list[Started]:
    """After a commit whose fate is unknown: the rows as they are now, read under the lease. Raises LeaseLostError."""
    try:
        async with conn.transaction():
            await conn.execute(SQL["hold_lease"], {"batch": batch.id, "token": batch.token})
            cursor = await conn.execute(SQL["reread"], {"batch": batch.id, "nos": list(nos)})
            return [Started(**row) for row in await cursor.fetchall()]
    except psycopg.Error as error:
        raise_if_lease_lost(error)
        raise


async def record_evidence(conn: Connection, batch: Batch, holder: Holder, results: Sequence[Result]) -> int:
    """Keep answers that came after the lease was lost; an acceptance among them settles its row. Returns how many.

    It may be repeated: an answer is noted once.
    """
    writer = {"namespace": holder.namespace, "campaign": holder.campaign_id, "worker": holder.worker}
    accepted = [result for result in results if result.state == "sent"]
    async with conn.transaction():
        held = await conn.execute(SQL["lock_batch"], {"batch": batch.id})
        if not held.rowcount:
            return 0  # its data was deleted
        await conn.execute(SQL["late_evidence"], {"batch": batch.id} | writer | _attempt_columns(results))
        if not accepted:
            return 0
        cursor = await conn.execute(SQL["accept_late"], {"batch": batch.id} | _result_columns(accepted))
        settled = await cursor.fetchall()
        await conn.execute(SQL["close_if_settled"], {"batch": batch.id})
    await tell_again(conn, holder.campaign_id)
    return len(settled)


async def next_due(conn: Connection, campaign_id: int) -> float | None:
    """Seconds until a batch of the campaign can be claimed (≤ 0: now); None when nothing waits."""
    cursor = await conn.execute(SQL["next_due"], {"campaign": campaign_id})
    row = await cursor.fetchone()
    return row["seconds"] if row else None
