"""One claimed batch, from its rows to its release.

    due rows ─→ prepare ─→ turn (commit `sending`) ─→ hand off ─→ result ─→ next turn ─→ … ─→ release

Each turn is one transaction: it writes the results that have come in and commits the next group as `sending`, while
the rest is still under way, so that the provider is never idle during a commit. The loop that sends is the loop that
renews the lease: a process that stands still stops doing both.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence

from sendonce_store.queue import LeaseLostError, due_rows, record_evidence, release, reread, take_turn
from sendonce_store.rows import Batch, Result, Row, Started, Turn, TurnOutcome, Unsent
from sendonce_worker.link import STORE_ERRORS
from sendonce_worker.sending.clock import Lease, Moment, boot_clock
from sendonce_worker.sending.counting import count
from sendonce_worker.sending.flight import Flight
from sendonce_worker.sending.handoff import Landed, Way
from sendonce_worker.sending.plan import ChannelPlan, utc_now
from sendonce_worker.sending.prepare import Prepared, prepare
from sendonce_worker.sending.surroundings import Surroundings

logger = logging.getLogger(__name__)
# a result is never held back longer than this
LINGER_SECONDS = 0.05


class Session:
    """Sends one batch. `run` returns when it has been released, or handed over to whoever took it."""

    def __init__(self, around: Surroundings, batch: Batch, plan: ChannelPlan, lease: Lease) -> None:
        """The batch has been claimed, and `lease` counts from before that."""
        self._around = around
        self._batch = batch
        self._plan = plan
        self._lease = lease
        way = Way(plan, batch.id, lease.clearance, around.alarms, around.rng)
        self._flight = Flight(around, way, self._land)
        self._todo: deque[Row] = deque()
        self._room = plan.capacity + plan.ahead
        # so many make a turn worth its commit: those of one request, where they come together
        self._worth = plan.bundle if plan.bundle > 1 else max(1, self._room * 3 // 4)
        self._done: list[Result] = []
        self._first_done = 0.0
        self._recovering = True  # until the store says that the provider has not been paused
        self._closing = False  # no new groups: draining, or the campaign or its provider stands still
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def has_more(self) -> bool:
        """Whether there are rows that have not been started."""
        return bool(self._todo)

    def drain(self) -> None:
        """Take no new group, finish what is in flight, give the batch back."""
        self._lease.stopping = True
        self._close()

    def _close(self) -> None:
        self._closing = True
        self._todo.clear()
        self._around.tail.set()
        self._done.extend(self._flight.give_back())
        self._wake.set()

    async def run(self) -> None:
        """Send what is due of the batch."""
        self._around.flying.listen(self._use_room)
        try:
            await self._read()
            while await self._step():
                pass
            await self._around.link.insist(lambda conn: release(conn, self._batch))
        except LeaseLostError:
            await self._hand_over()
        except BaseException:
            await self._flight.cancel()
            raise
        finally:
            self._around.flying.leave(self._use_room)

    async def _read(self) -> None:
        async with self._around.link.use() as conn:
            rows = await due_rows(conn, self._batch)
        if not self._closing:
            self._todo.extend(rows)

    # --- turns -------------------------------------------------------------------------------------------------------

    async def _step(self) -> bool:
        """One turn, or a wait for something to put into one; False when nothing is left."""
        if self._todo and self._plan.pacer.paced:
            await self._refill_pace()
        prepared, unsent = self._next_group()
        if prepared or unsent or self._flush_due() or self._renewal_due():
            await self._turn(prepared, unsent)
        elif self._flight.under_way or self._flight.waiting or self._todo:
            await self._wait()
        else:
            return bool(self._done)
        return True

    def _next_group(self) -> tuple[list[Prepared], list[Unsent]]:
        """Rows for which there is room and a slot, rendered; and rows that end or wait without a hand-off."""
        flight, ahead = self._flight, self._plan.ahead
        room = min(self._room - flight.under_way, self._around.flying.free() + ahead) - flight.waiting
        wanted = min(room, len(self._todo))
        worth = min(self._worth, len(self._todo))
        if wanted < 1 or (wanted < worth and not self._flush_due()):
            return [], []
        taken = self._plan.pacer.take(wanted, self._loop.time())
        now = utc_now()
        ready = [prepare(self._todo.popleft(), self._plan, now) for _ in range(taken)]
        if not self._todo:
            self._around.tail.set()
        prepared = [one for one in ready if isinstance(one, Prepared)]
        return prepared, [one for one in ready if isinstance(one, Unsent)]

    def _flush_due(self) -> bool:
        if not self._done:
            return False
        late = self._loop.time() - self._first_done >= LINGER_SECONDS
        return late or len(self._done) >= self._worth or not self._flight.under_way

    def _renewal_due(self) -> bool:
        return boot_clock() - self._lease.renewed_at >= self._around.heartbeat

    async def _turn(self, prepared: Sequence[Prepared], unsent: Sequence[Unsent]) -> None:
        results, self._done = self._done, []
        turn = Turn(
            results=results,
            unsent=unsent,
            group=[(one.row.no, one.digest) for one in prepared],
            lease=self._lease.length if self._renewal_due() else None,
            flowing=self._recovering,
        )
        asked_at = Moment.now()
        outcome: TurnOutcome | None
        try:
            outcome = await self._commit(turn)
        except LeaseLostError:
            self._done = results + self._done
            raise
        except STORE_ERRORS as error:
            logger.warning("commit of batch %s is unclear: %s", self._batch.id, error)
            outcome = None
        if outcome is None:
            await self._find_out(turn, prepared)
            return
        if turn.lease is not None:
            self._lease.renewed(asked_at)
        await self._after(turn, prepared, outcome)

    async def _commit(self, turn: Turn) -> TurnOutcome:
        plan, around = self._plan, self._around
        # what is not committed ahead of its hand-off has its place in flight while it is being committed
        held = 0 if plan.ahead else len(turn.group)
        around.flying.take(held)
        try:
            async with around.link.use() as conn:
                return await take_turn(conn, self._batch, around.holder, turn, plan.terms)
        finally:
            around.flying.give(held)

    async def _after(self, turn: Turn, prepared: Sequence[Prepared], outcome: TurnOutcome) -> None:
        count(self._around.metrics, self._plan.series, turn, outcome)
        self._recovering = outcome.recovering
        unwritten = [result for result in turn.results if result.no in outcome.unwritten]
        self._begin(prepared, outcome.started)
        if outcome.stopped or outcome.paused:
            self._close()
        if unwritten:
            # the row was settled by a person while the answer was under way: the answer still counts as evidence
            await self._keep_evidence(unwritten)

    def _begin(self, prepared: Sequence[Prepared], started: Sequence[Started]) -> None:
        """Hand off what came back as `sending`, and nothing else."""
        by_no = {one.row.no: one for one in prepared}
        self._flight.add((by_no[row.no], row) for row in started if row.state == "sending")
        if self._closing:
            self._close()  # it came back from a commit that was under way: nobody waits for it any more
        self._flight.launch()

    def _use_room(self) -> None:
        """There is room in flight again, of this batch or of another."""
        self._flight.launch()
        if self._todo and not self._flight.under_way:
            self._wake.set()

    # --- after an unclear commit -----------------------------------------------------------------------------------

    async def _find_out(self, turn: Turn, prepared: Sequence[Prepared]) -> None:
        """Read again what became of the turn, by state and attempt number, and go on from there."""
        nos = [result.no for result in turn.results] + [no for no, _ in turn.group]
        try:
            found = await self._around.link.insist(lambda conn: reread(conn, self._batch, nos))
        except LeaseLostError:
            self._done = [*turn.results, *self._done]
            raise
        rows = {row.no: row for row in found}
        self._done = [r for r in turn.results if _still_open(rows.get(r.no), r.seq)] + self._done
        self._first_done = self._loop.time()
        mine = [one for one in prepared if _still_open(rows.get(one.row.no), one.row.attempt_seq + 1)]
        self._begin(mine, [rows[one.row.no] for one in mine])
        if not self._closing:
            again = [one.row for one in prepared if rows[one.row.no].state == "pending"]
            self._todo.extendleft(reversed(again))

    def _land(self, landed: Sequence[Landed]) -> None:
        """These hand-offs are over."""
        if any(one.stands_still for one in landed):
            self._close()
        if not self._done:
            self._first_done = self._loop.time()
            self._loop.call_later(LINGER_SECONDS, self._wake.set)  # the wait may have begun before there was a result
        self._done.extend(one.result for one in landed)
        if not self._flight.under_way or len(self._done) >= self._worth:
            self._wake.set()

    # --- waiting, pace, the end --------------------------------------------------------------------------------------

    async def _refill_pace(self) -> None:
        try:
            await self._plan.pacer.refill(self._loop.time())
        except STORE_ERRORS as error:
            logger.warning("no pace slots: %s", error)
            await asyncio.sleep(0.1)

    async def _wait(self) -> None:
        """Until a result is worth a turn, the lease is to be renewed, or a slot comes due."""
        until = self._lease.renewed_at + self._around.heartbeat - boot_clock()
        if self._done:
            until = min(until, self._first_done + LINGER_SECONDS - self._loop.time())
        if self._todo and self._around.flying.free() > 0 and self._plan.pacer.paced:
            until = min(until, self._plan.pacer.wake_in(self._loop.time()))
        self._wake.clear()
        timer = self._loop.call_later(max(0.001, until), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    async def _hand_over(self) -> None:
        """The lease is lost: hand off no more, and keep what the far end still answers."""
        self._lease.lose()
        self._close()
        self._around.metrics.lease_lost()
        logger.warning("lease of batch %s lost with %d in flight", self._batch.id, self._flight.under_way)
        await self._flight.over()
        await self._keep_evidence(self._done)

    async def _keep_evidence(self, results: Sequence[Result]) -> None:
        answers = [result for result in results if result.outcome is not None or result.state == "sent"]
        if answers:
            holder = self._around.holder
            await self._around.link.insist(lambda conn: record_evidence(conn, self._batch, holder, answers))


def _still_open(row: Started | None, seq: int) -> bool:
    return row is not None and row.state == "sending" and row.attempt_seq == seq
