"""One HTTP/1.1 connection: bytes out, one parsed answer back, one request at a time.

In: a request as one blob of bytes. Out: a future of its :class:`Answer`. Anything that is not exactly one
well-formed answer (early close, garbage, bytes nobody asked for, an answer above the limit) makes the
connection unusable; what was asked on it fails with :class:`AnswerLostError`, because the far end may
have acted on it.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from sendonce_worker.providers.dial import Ear

MAX_ANSWER = 256 * 1024
"""Bytes of an answer's body that are read; more closes the connection."""
IDLE_SECONDS = 4.0
"""Idle connections older than this are not used: common servers hang up after 5 seconds."""
_KEEP_ALIVE = re.compile(r"timeout=(\d{1,6})")
MAX_HEADER = 64 * 1024
"""Bytes of all header lines of an answer together."""


@dataclass(slots=True)
class Answer:
    """What the far end answered; ``complete`` is false when the body was cut (too long, early close)."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    complete: bool

    def header(self, name: bytes) -> str | None:
        """Return the first header of that (lower-case) name."""
        for key, value in self.headers:
            if key.lower() == name:
                return value.decode("latin-1")
        return None

    def keep_alive_seconds(self) -> float | None:
        """Return the far end's own idle time-out (``Keep-Alive: timeout=5``), if it states one."""
        found = _KEEP_ALIVE.search(self.header(b"keep-alive") or "")
        return float(found[1]) if found else None


class AnswerLostError(Exception):
    """The request, or a part of it, left; no usable answer came. ``code`` says why."""

    def __init__(self, code: str, message: str) -> None:
        """``code``: timeout, connection_lost, garbage_answer."""
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")


class Http1Connection(asyncio.Protocol):
    """Owned by a pool; ``usable`` turns false for good at the first irregularity."""

    def __init__(self) -> None:
        """Connect it with ``create_connection``."""
        self.usable = True
        self.idle_since = 0.0
        self.idle_limit = IDLE_SECONDS
        self.transport: asyncio.Transport | None = None
        self.ear: Ear | None = None
        self._loop = asyncio.get_running_loop()
        self._parser = HttpResponseParser(self)
        self._waiter: asyncio.Future[Answer] | None = None
        self._fresh = True
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._begin()

    # -- the pool's and the client's side

    def request(self, blob: bytes) -> asyncio.Future[Answer]:
        """Write one request; the future gets its answer or an ``AnswerLostError``."""
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        self._waiter = waiter
        if self.transport is None or not self.usable:
            self._fail("connection_lost", "the connection was closed")
        else:
            self.transport.write(blob)
        return waiter

    def expire(self) -> None:
        """The request's total deadline passed."""
        self._fail("timeout", "no answer within the time-out")

    def abandon(self) -> None:
        """Drop the connection: its request is not awaited any more."""
        self._waiter = None
        self._drop()

    def quit(self) -> None:
        """Close an idle connection."""
        self._drop()

    async def wait_closed(self) -> None:
        """Return when the socket is closed."""
        await asyncio.wait([self._closed], timeout=1)

    # -- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport (also the one that replaces it after a tunnel's TLS)."""
        self.transport = cast("asyncio.Transport", transport)
        self.ear = Ear(transport)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; whatever it refuses is garbage."""
        if self._waiter is None:
            self._drop()
            return
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._fail("garbage_answer", "the far end switched protocols")
        except HttpParserError as error:
            if self._waiter is not None:
                self._fail("garbage_answer", f"not an HTTP answer: {error}")
            self._drop()

    def eof_received(self) -> None:
        """Leave the rest to ``connection_lost``, which asyncio calls next."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Settle the answer: some bodies end with the connection."""
        if not self._closed.done():
            self._closed.set_result(None)
        self.usable = False
        if self._waiter is None:
            return
        if self._status and self._until_close and exc is None:
            self._finish(complete=True)
        elif self._status:
            self._finish(complete=False)
        else:
            self._fail("connection_lost", f"connection lost before the answer: {exc or 'closed by the far end'}")

    # -- httptools' side

    def on_message_begin(self) -> None:
        """Refuse a second answer to one request."""
        if self._waiter is None:
            self._drop()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect; names are compared only where one is looked for."""
        self._headers.append((name, value))
        self._size += len(name) + len(value)
        if self._size > MAX_HEADER:
            self._fail("garbage_answer", f"header lines above {MAX_HEADER} bytes")

    def on_headers_complete(self) -> None:
        """Note the status; from here a cut answer still has a meaning."""
        status = self._parser.get_status_code()
        if status >= 200:  # noqa: PLR2004 - 1xx are interim answers
            self._status = status
            self._size = 0

    def on_body(self, body: bytes) -> None:
        """Collect up to the limit."""
        self._size += len(body)
        if self._size > MAX_ANSWER:
            self._finish(complete=False)
        elif self._waiter is not None:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """Hand the answer over, unless it was an interim one (1xx)."""
        if not self._status:
            self._headers.clear()
        elif self._waiter is not None:
            if not self._parser.should_keep_alive():
                self.usable = False
            self._finish(complete=True)

    # -- settling

    @property
    def _until_close(self) -> bool:
        names = {name.lower() for name, _ in self._headers}
        return not names & {b"content-length", b"transfer-encoding"}

    def _begin(self) -> None:
        self._status = 0
        self._size = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []

    def _finish(self, *, complete: bool) -> None:
        waiter, self._waiter = self._waiter, None
        answer = Answer(self._status, self._headers, b"".join(self._body), complete)
        self._begin()
        if not complete or not self.usable:
            self._drop()
        elif self._fresh:
            self._fresh = False
            # Using a connection in the moment in which the far end gives it up would lose the answer.
            self.idle_limit = min(IDLE_SECONDS, (answer.keep_alive_seconds() or IDLE_SECONDS + 1) - 1)
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)

    def _fail(self, code: str, message: str) -> None:
        waiter, self._waiter = self._waiter, None
        self._drop()
        if waiter is not None and not waiter.done():
            waiter.set_exception(AnswerLostError(code, message))

    def _drop(self) -> None:
        self.usable = False
        if self.transport is not None:
            self.transport.abort()
