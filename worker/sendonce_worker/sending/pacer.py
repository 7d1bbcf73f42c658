"""Slots of a provider's shared pace, as one worker holds them.

Blocks are leased from the store ahead of need; each slot may be used from its moment on and for a short while after.
One that was not used in time is given up: a late one would let the provider see more than its limits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from sendonce_store.pace import Slots

# slots are gathered for a moment, so that a group is worth a commit
GATHER_SECONDS = 0.05
# what goes out now was cleared a commit and a connection ago: part of a slot's validity is kept for that
SAFETY = 0.5

LeaseSlots = Callable[[int], Awaitable[Slots]]


class Pacer:
    """The slots of one provider. Unpaced providers have none and let everything through."""

    def __init__(self, lease_slots: LeaseSlots, *, paced: bool, block: int) -> None:
        """`lease_slots` asks the store for up to so many slots; `block` is how many to ask for at a time."""
        self.paced = paced
        self._lease_slots = lease_slots
        self._block = block
        self._slots: deque[tuple[float, float]] = deque()  # usable from, usable until; loop time
        self._next_ask = 0.0
        self._asking = False
        self.waited = 0.0

    def take(self, wanted: int, now: float) -> int:
        """How many of `wanted` messages may go now; their slots are used up."""
        if not self.paced:
            return wanted
        while self._slots and self._slots[0][1] < now:
            self._slots.popleft()
        ready = sum(1 for start, _ in self._slots if start <= now)
        taken = min(wanted, ready)
        if taken < wanted and taken and not self._ripe(now):
            return 0
        for _ in range(taken):
            self._slots.popleft()
        return taken

    def _ripe(self, now: float) -> bool:
        """Whether the oldest slot has waited for others long enough."""
        start, until = self._slots[0]
        return now - start >= min(GATHER_SECONDS, (until - start) / 4)

    def wake_in(self, now: float) -> float:
        """Seconds until it is worth asking again."""
        if self._slots:
            start, until = self._slots[0]
            return max(0.001, start + min(GATHER_SECONDS, (until - start) / 4) - now)
        return max(0.002, min(1.0, self._next_ask - now))

    async def refill(self, now: float) -> None:
        """Lease the next block if stock is low; at most one request is under way. Raises psycopg.Error."""
        if not self.paced or self._asking or now < self._next_ask or len(self._slots) > self._block // 2:
            return
        self._asking = True
        try:
            slots = await self._lease_slots(self._block - len(self._slots))
        finally:
            self._asking = False
        self._add(slots, asyncio.get_running_loop().time())

    def _add(self, slots: Slots, now: float) -> None:
        # counted from when the answer is here, which is later than the store's own moment: never too early
        usable = slots.valid_for * SAFETY
        self._slots.extend((now + delay, now + delay + usable) for delay in slots.delays)
        if len(slots.delays) == 0:
            self._next_ask = now + min(1.0, slots.retry_in)
            self.waited += min(1.0, slots.retry_in)
