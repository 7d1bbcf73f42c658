"""One SMTP connection: commands out, a number of replies back.

In: bytes to write and how many replies they will get. Out: a future of those replies; fewer of them when the
server says 421 or hangs up in between. Anything out of turn (garbage, a reply nobody asked for, silence
past the deadline) makes the connection unusable for good.
"""

from __future__ import annotations

import asyncio
from typing import cast

from sendonce_worker.providers.dial import Ear
from sendonce_worker.providers.smtp.replies import GarbageReplyError, Reply, ReplyReader

MAX_MAILS = 100
"""Mails per connection; many servers count and hang up at about this number."""
IDLE_SECONDS = 15.0
"""Idle connections older than this are closed with QUIT."""
_LEAVE_SECONDS = 2.0
_CLOSING = 421


class SmtpLostError(Exception):
    """The dialogue broke. ``code``: timeout, connection_lost, garbage_answer."""

    def __init__(self, code: str, message: str) -> None:
        """Whether the mail may have been accepted depends on where the dialogue was."""
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")


class SmtpConnection(asyncio.Protocol):
    """Owned by a pool. Made together with the wait for its greeting."""

    def __init__(self) -> None:
        """Connect it with ``create_connection``; ``greeting`` then gets the server's first reply."""
        self.usable = True
        self.idle_since = 0.0
        self.idle_limit = IDLE_SECONDS
        self.transport: asyncio.Transport | None = None
        self.ear: Ear | None = None
        self.extensions: dict[str, str] = {}
        self.mails = 0
        self.message_begun = False
        self._loop = asyncio.get_running_loop()
        self._reader = ReplyReader()
        self._replies: list[Reply] = []
        self._wanted = 1
        self._waiter: asyncio.Future[list[Reply]] | None = self._loop.create_future()
        self.greeting = self._waiter
        self._drained: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[None] = self._loop.create_future()

    # -- the session's and the transaction's side

    def ask(self, data: bytes, count: int) -> asyncio.Future[list[Reply]]:
        """Write ``data``; the future gets ``count`` replies (at least one), or an ``SmtpLostError``."""
        waiter: asyncio.Future[list[Reply]] = self._loop.create_future()
        self._waiter = waiter
        self._wanted = count
        if self.transport is None or not self.usable:
            self._fail("connection_lost", "the connection was closed")
        else:
            self.transport.write(data)
        return waiter

    async def write_out(self, data: bytes) -> None:
        """Write and return when the operating system has taken all of it. Raises ``SmtpLostError``."""
        if self.transport is None or not self.usable:
            raise SmtpLostError("connection_lost", "the connection was closed")
        self.transport.set_write_buffer_limits(high=0)
        self._drained = self._loop.create_future()
        self.transport.write(data)
        if self.transport.get_write_buffer_size():
            await self._drained
        self._drained = None

    def expire(self) -> None:
        """The deadline passed."""
        self._fail("timeout", "no answer within the time-out")

    def drop(self) -> None:
        """Hang up without a word."""
        self.usable = False
        if self.transport is not None:
            self.transport.abort()

    def quit(self) -> None:
        """Take leave: QUIT, and close when the server has answered."""
        if self.transport is None or self.transport.is_closing() or not self.usable:
            self.drop()
            return
        self.usable = False
        self.transport.write(b"QUIT\r\n")
        self._loop.call_later(_LEAVE_SECONDS, self.drop)

    async def wait_closed(self) -> None:
        """Return when the socket is closed."""
        await asyncio.wait([self._closed], timeout=_LEAVE_SECONDS)

    # -- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport (also the one that replaces it after STARTTLS)."""
        self.transport = cast("asyncio.Transport", transport)
        self.ear = Ear(transport)

    def data_received(self, data: bytes) -> None:
        """Collect replies until there are enough, or the server says that it closes."""
        waiter = self._waiter
        if waiter is None:
            self.drop()
            return
        try:
            replies = self._reader.feed(data)
        except GarbageReplyError as error:
            self._fail("garbage_answer", str(error))
            return
        self._replies += replies
        if len(self._replies) >= self._wanted or any(reply.code == _CLOSING for reply in replies):
            self._settle(waiter)

    def resume_writing(self) -> None:
        """All that was written has been taken."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the replies that did come; without any, the dialogue is lost."""
        if not self._closed.done():
            self._closed.set_result(None)
        self.usable = False
        if self._waiter is not None and self._replies:
            self._settle(self._waiter)
        else:
            self._fail("connection_lost", f"connection lost: {exc or 'closed by the far end'}")

    # -- settling

    def _settle(self, waiter: asyncio.Future[list[Reply]]) -> None:
        replies, self._replies, self._waiter = self._replies, [], None
        in_turn = len(replies) == self._wanted and not self._reader.rest
        if not in_turn or any(reply.code == _CLOSING for reply in replies):
            self.drop()
        if not waiter.done():
            waiter.set_result(replies[: self._wanted])

    def _fail(self, code: str, message: str) -> None:
        waiter, self._waiter = self._waiter, None
        self.drop()
        for future in (waiter, self._drained):
            if future is not None and not future.done():
                future.set_exception(SmtpLostError(code, message))
