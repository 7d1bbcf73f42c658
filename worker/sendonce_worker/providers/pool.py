"""Connections that are kept open between messages, up to a number in flight.

In: a way to open a connection. Out: connections that are ready for the next message. A connection comes
back with :meth:`Pool.give_back`; one that has misbehaved (``usable`` is false), has been closed by the
peer, or has been idle too long is never handed out again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from sendonce_worker.providers.dial import Ear


class Pooled(Protocol):
    """What a pool asks of a connection."""

    usable: bool
    idle_since: float
    idle_limit: float
    ear: Ear | None

    def quit(self) -> None:
        """Take leave and close."""
        ...

    async def wait_closed(self) -> None:
        """Return when the connection is gone."""
        ...


ConnectionT = TypeVar("ConnectionT", bound=Pooled)


class PoolClosedError(Exception):
    """The provider was closed while a message waited for a connection."""


class Pool(Generic[ConnectionT]):
    """At most ``limit`` connections, last used first, idle ones dropped after ``idle_seconds``."""

    def __init__(self, open_one: Callable[[], Awaitable[ConnectionT]], limit: int, idle_seconds: float) -> None:
        """``open_one`` connects and makes ready (TLS, login); its errors pass through."""
        self._open_one = open_one
        self._free = limit
        self._idle_seconds = idle_seconds
        self._idle: deque[ConnectionT] = deque()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    def take(self, now: float) -> ConnectionT | None:
        """Return an idle connection at once, or None: then ``await open()``."""
        if not self._free or self._closed:
            return None
        connection = self._pop_idle(now)
        if connection is not None:
            self._free -= 1
        return connection

    async def open(self) -> ConnectionT:
        """Wait for a free slot, then return an idle connection or open one."""
        await self._take_slot()
        try:
            idle = self._pop_idle(asyncio.get_running_loop().time())
            return idle if idle is not None else await self._open_one()
        except BaseException:
            self._free_slot()
            raise

    def give_back(self, connection: ConnectionT, now: float) -> None:
        """End a use: keep the connection if it is usable, and let the next waiter go on."""
        if self._closed:
            connection.quit()
        elif connection.usable:
            connection.idle_since = now
            self._idle.append(connection)
            if self._sweeper is None:
                self._sweeper = asyncio.get_running_loop().call_later(self._idle_seconds, self._sweep)
        self._free_slot()

    async def aclose(self) -> None:
        """Close idle connections, turn waiters away; connections in use close when they come back."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(PoolClosedError)
        leaving = list(self._idle)
        self._idle.clear()
        for connection in leaving:
            connection.quit()
        await asyncio.gather(*(connection.wait_closed() for connection in leaving))

    async def _take_slot(self) -> None:
        if self._closed:
            raise PoolClosedError
        if self._free:
            self._free -= 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._free_slot()
            raise

    def _free_slot(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1

    def _pop_idle(self, now: float) -> ConnectionT | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.usable:
                continue
            young = now - connection.idle_since < connection.idle_limit
            if young and connection.ear is not None and not connection.ear.hears():
                return connection
            connection.quit()
        return None

    def _sweep(self) -> None:
        self._sweeper = None
        loop = asyncio.get_running_loop()
        limit = loop.time() - self._idle_seconds
        while self._idle and (self._idle[0].idle_since <= limit or not self._idle[0].usable):
            self._idle.popleft().quit()
        if self._idle:
            self._sweeper = loop.call_later(self._idle_seconds, self._sweep)
