"""The hand-offs of one batch whose rows have been committed as `sending`: those that wait for room, those under way.

In: committed rows, and room. Out: what has landed, or rows that are given back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from sendonce_store.rows import Result
from sendonce_worker.sending.handoff import Committed, Landed, Way, hand_off, not_handed_off
from sendonce_worker.sending.surroundings import Surroundings


class Flight:
    """Hands off as far as there is room, several in one request where the provider takes them so. Counts messages."""

    def __init__(self, around: Surroundings, way: Way, land: Callable[[Sequence[Landed]], None]) -> None:
        """`land` is told what came of each request."""
        self._around = around
        self._way = way
        self._land = land
        self._waiting: deque[Committed] = deque()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()

    @property
    def waiting(self) -> int:
        """How many are committed and wait for room."""
        return len(self._waiting)

    @property
    def under_way(self) -> int:
        """How many have been handed off, or are about to be."""
        return len(self._tasks)

    def add(self, rows: Iterable[Committed]) -> None:
        """These are to be handed off; see `launch`."""
        self._waiting.extend(rows)

    def launch(self) -> None:
        """Hand off what waits, as far as there is room."""
        plan, flying = self._way.plan, self._around.flying
        while self._waiting and (room := min(plan.capacity - len(self._tasks), flying.free())) > 0:
            count = min(plan.bundle, room, len(self._waiting))
            rows = [self._waiting.popleft() for _ in range(count)]
            flying.take(count)
            task = self._loop.create_task(self._fly(rows))
            for _, row in rows:
                self._tasks[row.no] = task

    def give_back(self) -> list[Result]:
        """Let those go that wait; nothing of them was handed off."""
        return [not_handed_off(*self._waiting.popleft()) for _ in range(len(self._waiting))]

    async def cancel(self) -> None:
        """Stop at once: rows in `sending` are settled by the next holder."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def over(self) -> None:
        """Wait until everything under way has landed."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def _fly(self, rows: Sequence[Committed]) -> None:
        began = self._loop.time()
        try:
            landed = await hand_off(rows, self._way)
        finally:
            for _, row in rows:
                del self._tasks[row.no]
            self._around.flying.landed(len(rows))
        self._around.metrics.send_took(self._way.plan.provider_series, self._loop.time() - began)
        self._land(landed)
