"""The lease as a worker's own clocks see it.

It counts from before the renewal was asked for, on CLOCK_BOOTTIME, which goes on while the machine sleeps
(clock_gettime(2)). A virtual machine that is paused from outside stops that clock too; its wall clock is then set
right, so when the two disagree about how much time went by, the lease counts as lost until it has been renewed.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Self

from sendonce_worker.providers.errors import HandOffRefusedError

# how far the two clocks may drift apart within one lease; a clock that is being slewed stays far below it
LARGEST_DISAGREEMENT = 1.0


def boot_clock() -> float:
    """Seconds since boot, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Moment(NamedTuple):
    """One moment on both clocks, in seconds."""

    boot: float
    wall: float

    @classmethod
    def now(cls) -> Self:
        """Read the clocks."""
        return cls(boot_clock(), time.time())


class Lease:
    """How long this process may still hand off from its batch. Times in seconds."""

    __slots__ = ("_lost", "_wall", "length", "patience", "renewed_at", "stopping")

    def __init__(self, length: float, patience: float, asked_at: Moment) -> None:
        """`asked_at`: the moment before the claim was asked for; `patience`: time-out plus margin of a hand-off."""
        self.length = length
        self.patience = patience
        self.stopping = False
        self._lost = False
        self.renewed(asked_at)

    def renewed(self, asked_at: Moment) -> None:
        """Count anew from before the renewal was asked for: the machine may have been paused before the answer came."""
        self.renewed_at, self._wall = asked_at

    def lose(self) -> None:
        """Somebody else may hold the batch."""
        self._lost = True

    @property
    def lost(self) -> bool:
        """Whether the store said that the lease is gone."""
        return self._lost

    def remaining(self) -> float:
        """Seconds until another worker may claim the batch."""
        return self.renewed_at + self.length - boot_clock()

    def clocks_agree(self) -> bool:
        """Whether boot and wall clock saw the same time go by since the last renewal."""
        boot, wall = boot_clock() - self.renewed_at, time.time() - self._wall
        return abs(boot - wall) <= LARGEST_DISAGREEMENT

    def clearance(self) -> None:
        """Asked right before the first byte of a message. Raises HandOffRefusedError."""
        if self._lost:
            message = "the lease is lost"
        elif self.stopping:
            message = "the worker is stopping"
        elif self.remaining() < self.patience:
            message = "the lease may end before the answer comes"
        elif not self.clocks_agree():
            message = "the clocks disagree: the machine was paused"
        else:
            return
        raise HandOffRefusedError(message)
