"""Rate limits in constant memory: who asks in, whether it is too much out.

One generic-cell-rate row per slot, as the store's pace has it: a slot holds the time up to which its budget is used.
Keys are hashed onto a fixed number of slots. Two keys that share one share its budget, which a flood of made-up keys
cannot turn into memory. Each process counts for itself: with n replicas, n times as much gets through.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Hashable

__all__ = ["RateLimiter"]


class RateLimiter:
    """Lets `burst` requests of one key through at once, and `rate` per second in the long run."""

    def __init__(
        self, rate: float, burst: int, slots: int = 16_384, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take 8 bytes per slot, now and for ever."""
        self._interval = 1 / rate
        self._tolerance = (burst - 1) / rate
        self._clock = clock
        self._used_until = array("d", bytes(8 * slots))

    def take(self, key: Hashable) -> float:
        """Return 0 if the request may pass, and count it; else the seconds after which one would."""
        wait = self.wait(key)
        if not wait:
            slot = self._slot(key)
            self._used_until[slot] = max(self._clock(), self._used_until[slot]) + self._interval
        return wait

    def wait(self, key: Hashable) -> float:
        """Return the seconds after which a request may pass, and count none."""
        wait = self._used_until[self._slot(key)] - self._clock() - self._tolerance
        return wait if wait > 1e-9 else 0.0  # noqa: PLR2004 - rounding

    def _slot(self, key: Hashable) -> int:
        # str's hash has a seed of its own in each process: nobody can look for keys that share a slot
        return hash(key) % len(self._used_until)
