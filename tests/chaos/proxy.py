"""A TCP proxy between workers and database that loses what a network can lose, on order.

    lose   lets a commit through, waits until the server has done it, then drops the answer and the connection
    late   holds what a worker sends, from the beginning of a transaction or its guard on, and lets it through after the
           lease has ended, for a worker that still waits for the answer (held), or when the worker has long since
           given up the connection (ghost)
    cut    ends connections at once

Which connections are meant is told by the application_name that workers give. Everything else passes as it is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from tests.chaos.wire import Frame, Frames, application_name

_CHUNK = 64 * 1024
_IDLE = b"I"
# a turn takes the guard inside, and is a transaction of its own where no other is open
_TURN = b"TAKE_TURN"
_GUARDS = (b"HOLD_LEASE", _TURN)
# a client's statements all come within this, if it sends them without waiting for answers
_GATHER = 0.3
_SERVER_ENDS = 2.0

Say = Callable[[str], None]


@dataclass(slots=True)
class Trap:
    """A fault that waits for its moment. `whose`: part of the application_name; '' for all."""

    kind: str  # lose | late
    whose: str
    of: str = "commit"  # lose: commit | any
    how: str = "held"  # late: held | ghost
    seconds: float = 0.0
    times: int = 1
    at: float = 0.0  # when it happened, Unix seconds


class Proxy:
    """Listens on a port of its own until closed."""

    def __init__(self, host: str, port: int, say: Say) -> None:
        """`host` and `port` are the database's; `say` is told of every fault that happens."""
        self._upstream = (host, port)
        self._say = say
        self._server: asyncio.Server | None = None
        self._links: set[_Pair] = set()
        self._traps: list[Trap] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.sprung: list[Trap] = []

    @property
    def port(self) -> int:
        """The port to connect to."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self) -> None:
        """Listen on a free port of the loopback interface."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def close(self) -> None:
        """End every connection and listen no more."""
        if self._server is not None:
            self._server.close()
        self.cut("")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def arm(self, trap: Trap) -> None:
        """Wait for the moment of a fault."""
        self._traps.append(trap)

    def disarm(self) -> None:
        """Forget the faults that have not happened, and let through what is held."""
        self._traps.clear()
        for pair in self._links:
            pair.let_go.set()

    def disarm_when_idle(self) -> None:
        """Forget the faults that have not happened; what is held goes on being held for its time."""
        self._traps.clear()

    def cut(self, whose: str) -> int:
        """End the connections of `whose` at once; returns how many."""
        meant = [pair for pair in self._links if whose in pair.name]
        for pair in meant:
            pair.abort()
        return len(meant)

    def spring(self, pair: _Pair, frame: Frame) -> Trap | None:
        """The trap that this message of a client sets off, if any."""
        for trap in self._traps:
            if trap.whose in pair.name and pair.name.startswith("sendonce-worker") and _fits(trap, pair, frame):
                trap.times -= 1
                if trap.times <= 0:
                    self._traps.remove(trap)
                self.sprung.append(replace(trap, at=time.time()))
                self._say(f"proxy: {trap.kind} {trap.of if trap.kind == 'lose' else trap.how} on {pair.name!r}")
                return trap
        return None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        pair = None
        try:
            upstream = await asyncio.open_connection(*self._upstream)
            pair = _Pair(self, reader, writer, *upstream)
            self._links.add(pair)
            await pair.run()
        except (OSError, asyncio.CancelledError):
            # asyncio's streams report a connection's task that was cancelled as an error of the program
            pass
        finally:
            if pair is not None:
                self._links.discard(pair)
                pair.abort()
            writer.transport.abort()
            self._tasks.discard(task)


def _fits(trap: Trap, pair: _Pair, frame: Frame) -> bool:
    if trap.kind == "late":
        guards = pair.guards(frame)
        if trap.how == "ghost":
            # what can be done without its client: a commit, or a write that was sent whole
            return pair.commits(frame) or (pair.idle and guards)
        return guards or (pair.idle and frame.type in {b"P", b"Q"})
    return pair.commits(frame) or (trap.of == "any" and frame.ends_request and pair.name != "")


class _Pair:
    """One client's connection and the one to the server that belongs to it."""

    def __init__(
        self,
        proxy: Proxy,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server_writer: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._client, self._to_client = reader, writer
        self._server, self._to_server = server_reader, server_writer
        self._guards: set[bytes] = set()  # names of prepared statements that take the lease's guard
        self._turns: set[bytes] = set()  # and of those among them that are turns
        self._losing: str | None = None
        self._ghost = False
        self.let_go = asyncio.Event()
        self.idle = False
        self.name = ""

    async def run(self) -> None:
        """Carry bytes both ways until one side ends."""
        tasks = [asyncio.create_task(self._from_client()), asyncio.create_task(self._from_server())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if self._ghost and tasks[0] not in done:
                await tasks[0]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def guards(self, frame: Frame) -> bool:
        """Whether this message takes the lease's guard: a write of a batch begins, and its rest comes with it."""
        if frame.type == b"P":
            # the unnamed statement is another one each time
            _keep(self._guards, frame.name, wanted=any(guard in frame.statement for guard in _GUARDS))
            _keep(self._turns, frame.name, wanted=_TURN in frame.statement)
        return frame.type in {b"P", b"B"} and frame.name in self._guards

    def commits(self, frame: Frame) -> bool:
        """Whether a transaction ends with this message: a COMMIT, or a turn outside of any other transaction."""
        return frame.commits or (self.idle and frame.type in {b"P", b"B"} and frame.name in self._turns)

    def abort(self) -> None:
        """End both connections without a word."""
        self._to_client.transport.abort()
        self._to_server.transport.abort()

    async def _from_client(self) -> None:
        frames = Frames(startup=True)
        while data := await self._client.read(_CHUNK):
            trap = self._watch(frames, data)
            if trap is not None and trap.kind == "late":
                await self._hold(trap, data)
                if self._ghost:
                    return
                continue
            if trap is not None:
                self._losing = trap.of
            await self._pass_on(data)

    async def _pass_on(self, data: bytes) -> None:
        self.idle = False
        self._to_server.write(data)
        await self._to_server.drain()

    def _watch(self, frames: Frames, data: bytes) -> Trap | None:
        found = None
        for frame in frames.feed(data):
            if frame.type == b"":
                self.name = application_name(frame.body)
            elif found is None and self._losing is None:
                self.guards(frame)
                found = self._proxy.spring(self, frame)
                self.idle = self.idle and not frame.statement.startswith(b"BEGIN")
        return found

    async def _hold(self, trap: Trap, data: bytes) -> None:
        """Keep back what the client sends; the rest of it stays in the socket meanwhile."""
        if trap.how == "held":
            await self._wait(trap.seconds)
            await self._pass_on(data)
            return
        held = data + await self._gather()
        self._ghost = True
        self._to_client.transport.abort()
        await self._wait(trap.seconds)
        await self._pass_on(held)
        await asyncio.sleep(_SERVER_ENDS)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.let_go.wait(), seconds)

    async def _gather(self) -> bytes:
        more = bytearray()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GATHER):
                while data := await self._client.read(_CHUNK):
                    more += data
        return bytes(more)

    async def _from_server(self) -> None:
        frames = Frames(startup=False)
        while data := await self._server.read(_CHUNK):
            lost = self._losing
            for frame in frames.feed(data):
                if frame.type == b"Z":
                    self.idle = frame.body[:1] == _IDLE
                    if lost is not None and (self.idle or lost == "any"):
                        return
            if lost is None and not self._ghost:
                self._to_client.write(data)
                await self._to_client.drain()


def _keep(names: set[bytes], name: bytes, *, wanted: bool) -> None:
    if wanted:
        names.add(name)
    else:
        names.discard(name)
