"""Far ends on loopback sockets that do what a test tells them, and the providers that talk to them.

In: scripted answers per request (HTTP) or per command (SMTP). Out: what arrived, byte by byte.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest
import trustme
import uvloop

from sendonce_rendering.content import Content
from sendonce_worker.providers.base import Message

KEY = "6f1c0f8e-5a5e-4c1b-9a3e-0123456789ab"


class Do(Enum):
    """What a far end can do instead of answering."""

    HANG = "say nothing more"
    CLOSE = "close the connection"
    RESET = "reset the connection"


Step = bytes | Do


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run each test on the loop that workers use, and on the standard library's."""
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="session")
def server_tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context


@pytest.fixture(scope="session")
def ca(authority: trustme.CA) -> bytes:
    return authority.cert_pem.bytes()


@dataclass
class FarEnd:
    """A listening socket; sub-classes speak a protocol on each connection."""

    connections: int = 0
    received: bytes = b""
    """Everything that came, of all connections."""
    _servers: list[asyncio.Server] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self, tls: ssl.SSLContext | None = None) -> int:
        """Listen on one more port, and return it."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=tls)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        for server in self._servers:
            server.close()
        self.hang_up()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hang_up(self) -> None:
        """Close all connections."""
        for writer in self._writers:
            writer.close()

    @property
    def port(self) -> int:
        port: int = self._servers[0].sockets[0].getsockname()[1]
        return port

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when the condition holds; it is looked at whenever something arrives or a connection ends."""
        async with asyncio.timeout(5):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    @property
    def open_connections(self) -> int:
        return len(self._writers)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            await self.talk(reader, writer)
        writer.transport.abort()
        self._writers.discard(writer)
        self._tasks.discard(task)
        self._changed.set()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Say nothing."""
        while data := await reader.read(65536):
            self.note(data)

    def calm(self) -> None:
        """Answer as usual from here on."""

    async def do(self, step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Do one step; False ends the connection."""
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
            return True
        if step is Do.HANG:
            while await reader.read(65536):
                pass
        elif step is Do.RESET:
            writer.transport.abort()
        return False

    def note(self, data: bytes) -> bytes:
        self.received += data
        self._changed.set()
        return data


@dataclass
class Request:
    line: str
    headers: dict[str, str]
    body: bytes


def answer(status: int, body: bytes = b"", *headers: str) -> bytes:
    """Write an HTTP answer."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class HttpFarEnd(FarEnd):
    """Answers each request with the next script, by default with an id; remembers keys for ``window`` seconds."""

    scripts: deque[tuple[Step, ...]] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    respond: Callable[[Request], bytes] | None = None
    """Answers instead of the usual way, as a named far end does."""
    window: float | None = None
    now: float = 0.0
    accepted: list[str] = field(default_factory=list)
    _keys: dict[str, tuple[float, bytes]] = field(default_factory=dict)

    def will(self, *steps: Step) -> None:
        self.scripts.append(steps)

    def calm(self) -> None:
        self.scripts.clear()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await self._read(reader)
            self.requests.append(request)
            self._changed.set()
            steps = self.scripts.popleft() if self.scripts else ((self.respond or self._accept)(request),)
            for step in steps:
                if not await self.do(step, reader, writer):
                    return

    async def _read(self, reader: asyncio.StreamReader) -> Request:
        head = self.note(await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.strip().split("\r\n")
        headers = dict(one.split(": ", 1) for one in fields)
        body = self.note(await reader.readexactly(int(headers.get("Content-Length", "0"))))
        return Request(line, headers, body)

    def _accept(self, request: Request) -> bytes:
        key = request.headers.get("Idempotency-Key", "")
        if self.window is not None and key in self._keys and self.now - self._keys[key][0] < self.window:
            return self._keys[key][1]
        self.accepted.append(key)
        given = answer(200, b'{"id": "m-%d"}' % len(self.accepted))
        self._keys[key] = (self.now, given)
        return given


@dataclass
class SmtpFarEnd(FarEnd):
    """Answers each command by ``replies``, whose keys are verbs, GREETING, and DOT for the end of the message."""

    replies: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    extensions: tuple[str, ...] = ("PIPELINING", "SIZE 1000000", "8BITMIME", "SMTPUTF8")
    start_tls: ssl.SSLContext | None = None
    commands: list[str] = field(default_factory=list)
    mails: list[bytes] = field(default_factory=list)

    def will(self, verb: str, *steps: Step) -> None:
        self.replies[verb] = steps

    def calm(self) -> None:
        self.replies.clear()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not await self._reply("GREETING", b"220 far.example.com ESMTP\r\n", reader, writer):
            return
        while line := self.note(await reader.readline()):
            verb = line[:4].upper().decode("latin-1").strip()
            self.commands.append(line.decode("utf-8").strip())
            if not await self._reply(verb, self._usual(verb), reader, writer):
                return
            if verb == "DATA" and not await self._data(reader, writer):
                return
            if verb == "STAR" and self.start_tls is not None:
                await writer.start_tls(self.start_tls)
            if verb == "QUIT":
                return

    async def _data(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if not self._said_go_ahead:
            return True
        mail = b""
        while (line := self.note(await reader.readline())) != b".\r\n":
            if not line:
                return False
            mail += line
            if not await self._reply("LINE", b"", reader, writer):
                return False
        if mail:
            self.mails.append(mail)
        usual = b"250 2.0.0 Ok: queued as 4F2\r\n" if mail else b"554 5.5.1 no mail\r\n"
        return await self._reply("DOT", usual, reader, writer)

    @property
    def _said_go_ahead(self) -> bool:
        step = self.replies.get("DATA", (b"354 go ahead\r\n",))[0]
        return isinstance(step, bytes) and step.startswith(b"354")

    async def _reply(self, verb: str, usual: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self._changed.set()
        for step in self.replies.get(verb, (usual,)):
            if not await self.do(step, reader, writer):
                return False
        return True

    def _usual(self, verb: str) -> bytes:
        if verb == "EHLO":
            lines = ["far.example.com", *self.extensions, *(["STARTTLS"] if self.start_tls else [])]
            return "".join(f"250{' ' if line is lines[-1] else '-'}{line}\r\n" for line in lines).encode()
        usual = {"DATA": b"354 go ahead\r\n", "QUIT": b"221 bye\r\n", "AUTH": b"235 2.7.0 welcome\r\n"}
        return usual.get(verb, b"250 2.0.0 Ok\r\n")


@dataclass
class Puppet(FarEnd):
    """An SMTP server that greets, and answers EHLO; all else is said by the test."""

    said: list[bytes] = field(default_factory=list)
    """What came over each connection since the test last spoke there."""
    extensions: bytes = b"250-far.example.com\r\n250 PIPELINING\r\n"
    _by_number: list[asyncio.StreamWriter] = field(default_factory=list)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self.said)
        self.said.append(b"")
        self._by_number.append(writer)
        writer.write(b"220 far.example.com\r\n")
        await reader.readline()
        writer.write(self.extensions)
        while data := await reader.read(65536):
            self.said[number] += data
            self.note(data)

    def say(self, number: int, words: bytes) -> None:
        self.said[number] = b""
        self._by_number[number].write(words)

    def cut(self, number: int) -> None:
        self._by_number[number].transport.abort()

    async def heard(self, number: int, end: bytes) -> bytes:
        """Wait until what came ends so, and return it."""
        await self.until(lambda: len(self.said) > number and self.said[number].endswith(end))
        return self.said[number]


@pytest.fixture
async def http_far_end() -> AsyncIterator[HttpFarEnd]:
    far_end = HttpFarEnd()
    await far_end.listen()
    yield far_end
    await far_end.stop()


@pytest.fixture
async def http_far_ends() -> AsyncIterator[Callable[[], Awaitable[HttpFarEnd]]]:
    """Start as many far ends as a test needs."""
    started: list[HttpFarEnd] = []

    async def start() -> HttpFarEnd:
        far_end = HttpFarEnd()
        started.append(far_end)
        await far_end.listen()
        return far_end

    yield start
    for far_end in started:
        await far_end.stop()


@pytest.fixture
async def smtp_far_end() -> AsyncIterator[SmtpFarEnd]:
    far_end = SmtpFarEnd()
    await far_end.listen()
    yield far_end
    await far_end.stop()


@pytest.fixture
async def puppet() -> AsyncIterator[Puppet]:
    far_end = Puppet()
    await far_end.listen()
    yield far_end
    await far_end.stop()


@pytest.fixture
async def silent_far_end() -> AsyncIterator[FarEnd]:
    far_end = FarEnd()
    await far_end.listen()
    yield far_end
    await far_end.stop()


@pytest.fixture
def do() -> type[Do]:
    return Do


@pytest.fixture
def message() -> Message:
    return make_message()


def make_message(**changes: Any) -> Message:
    """Build a message; ``content`` may be given in parts."""
    content = Content(
        sender=changes.pop("sender", "News <news@example.com>"),
        reply_to=changes.pop("reply_to", None),
        subject=changes.pop("subject", "Hello"),
        text=changes.pop("text", "Good morning"),
        html=changes.pop("html", None),
        headers=changes.pop("headers", ()),
    )
    plain: dict[str, Any] = {
        "key": KEY,
        "channel": "Email",
        "to": "ann@example.org",
        "content": content,
        "date": datetime(2026, 12, 1, 9, 30, tzinfo=UTC),
        "delivery_id": "7-3",
        "variables": {"name": "Ann"},
    }
    return Message(**(plain | changes))


@pytest.fixture
def build_message() -> Callable[..., Message]:
    return make_message


@pytest.fixture
def http_answer() -> Callable[..., bytes]:
    return answer


@pytest.fixture
def unused_port() -> Iterator[int]:
    """Yield a port that refuses connections: bound, but nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
