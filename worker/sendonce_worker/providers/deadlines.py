"""One timer for all requests of a provider, instead of one each.

In: things that must end by a moment on the loop's clock. Out: a call of ``expire()`` on each that is
late. All share one time-out, so the timer hardly ever fires for nothing, and watching a request costs
one dictionary entry.
"""

from __future__ import annotations

import asyncio
from typing import Protocol


class Expirable(Protocol):
    """What can run out of time."""

    def expire(self) -> None:
        """End it now: the deadline has passed."""
        ...


class Deadlines:
    """The running deadlines on one event loop."""

    def __init__(self) -> None:
        """Nothing is scheduled until the first ``start``."""
        self._due: dict[Expirable, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._armed = 0.0

    def start(self, item: Expirable, due: float) -> None:
        """Watch ``item`` until ``stop``; ``due`` is on the loop's clock."""
        self._due[item] = due
        if self._timer is None or due < self._armed:
            self._arm(due)

    def stop(self, item: Expirable) -> None:
        """Forget ``item``; an unknown one is fine."""
        self._due.pop(item, None)

    def clear(self) -> None:
        """Forget everything."""
        self._due.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed = due
        self._timer = asyncio.get_running_loop().call_at(due, self._tick)

    def _tick(self) -> None:
        self._timer = None
        # Event loops may fire a timer one clock tick early (uvloop counts whole milliseconds).
        now = asyncio.get_running_loop().time() + 0.001
        for item in [item for item, due in self._due.items() if due <= now]:
            del self._due[item]
            item.expire()
        if self._due and self._timer is None:
            self._arm(min(self._due.values()))
