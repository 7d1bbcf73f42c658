"""How many hand-offs a worker has under way, over all of its batches, and who is told when there is room again."""

from __future__ import annotations

from collections.abc import Callable


class Flying:
    """A count with a limit. Used by one event loop; whoever takes more than `free()` breaks the worker's limit."""

    __slots__ = ("_count", "_limit", "_listeners")

    def __init__(self, limit: int) -> None:
        """`limit`: hand-offs at a time."""
        self._limit = limit
        self._count = 0
        self._listeners: list[Callable[[], None]] = []

    def free(self) -> int:
        """How many more may start."""
        return self._limit - self._count

    def take(self, count: int) -> None:
        """These start, or are being committed in order to start at once."""
        self._count += count

    def give(self, count: int) -> None:
        """These are over, or do not start yet."""
        self._count -= count

    def landed(self, count: int = 1) -> None:
        """These are over; whoever waits for room is told."""
        self._count -= count
        for tell in self._listeners:
            tell()

    def listen(self, tell: Callable[[], None]) -> None:
        """Be told when there is room."""
        self._listeners.append(tell)

    def leave(self, tell: Callable[[], None]) -> None:
        """Be told no more."""
        self._listeners.remove(tell)
