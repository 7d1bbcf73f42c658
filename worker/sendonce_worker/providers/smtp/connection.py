"""One SMTP connection: commands out, a number of replies back.

In: bytes to write and how many replies they will get. Out: a future of those replies; fewer of them when the
server says 421 or hangs up in between. Anything out of turn (garbage, a reply nobody asked for, silence
past the deadline) makes the connection unusable for good.

Hand-offs may stand in line for it. The next envelope then leaves in one write with the message before it (RFC 2920
§3.1), and the answers to both come in one read. Whoever stands in line has sent nothing but an envelope.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import cast

from sendonce_worker.providers.dial import Ear
from sendonce_worker.providers.smtp.replies import GarbageReplyError, Reply, ReplyReader

MAX_MAILS = 100
"""Mails per connection; many servers count and hang up at about this number."""
IDLE_SECONDS = 15.0
"""Idle connections older than this are closed with QUIT."""
MAX_USERS = 4
"""Hand-offs at a time on one connection: one whose message is out, one whose envelope is, and those in line."""
QUICK_SECONDS = 0.01
"""Nobody stands in line for longer, by what the last messages took: then a connection each is faster."""
_WEIGHT = 0.25
_LEAVE_SECONDS = 2.0
_CLOSING = 421


class SmtpLostError(Exception):
    """The dialogue broke. ``code``: timeout, connection_lost, garbage_answer."""

    def __init__(self, code: str, message: str) -> None:
        """Whether the mail may have been accepted depends on where the dialogue was."""
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")


Waiter = asyncio.Future[list[Reply]]
GoOn = Callable[[list[Reply]], bytes | None]
"""From the replies to an envelope to the message; None where whoever waits has to look at them."""


@dataclass(slots=True, eq=False)
class _Question:
    """What was or will be written, and who waits for its replies."""

    data: bytes
    wanted: int
    waiter: Waiter
    go_on: GoOn | None = None
    is_message: bool = False
    replies: list[Reply] = field(default_factory=list)
    asked_at: float = 0.0


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
        self.users = 0
        self.listed = False
        self._loop = asyncio.get_running_loop()
        self._reader = ReplyReader()
        self.greeting: Waiter = self._loop.create_future()
        self._questions = deque([_Question(b"", 1, self.greeting)])
        self._line: deque[_Question] = deque()
        self._ready: _Question | None = None  # an envelope that has just been answered
        self._held = False  # by a hand-off whose envelope is out, and whose message is not
        self._seconds = inf  # for a message, smoothed
        self._drained: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[None] = self._loop.create_future()

    # -- the session's and the transaction's side

    def has_room(self, now: float, quick: float) -> bool:
        """Say whether it is worth while to stand in line here: for less than ``quick`` seconds, as it looks."""
        return (
            self.usable
            and self.users < MAX_USERS
            and self.mails < MAX_MAILS
            and self._seconds * self.users < quick
            and (not self._questions or now - self._questions[0].asked_at < quick)
            and "PIPELINING" in self.extensions
        )

    def ask(self, data: bytes, count: int) -> Waiter:
        """Write ``data``; the future gets ``count`` replies (at least one), or an ``SmtpLostError``."""
        return self._write(_Question(data, count, self._loop.create_future()))

    def begin(self, envelope: bytes, count: int, go_on: GoOn) -> Waiter:
        """Write an envelope, now or when the message before it has been written; as ``ask``.

        When all its replies are there, ``go_on`` is asked for the message; the future is then for the message's reply.
        Where it gives none, ``finish`` must follow, or ``pass_on`` when there will be no message.
        """
        question = _Question(envelope, count, self._loop.create_future(), go_on)
        if self._held and self.usable:
            self._line.append(question)
            return question.waiter
        self._held = True
        return self._write(question)

    def finish(self, message: bytes) -> Waiter:
        """Write the message, and the next envelope with it; the future is for the message's reply."""
        return self._finish(message, self._loop.create_future())

    def _finish(self, message: bytes, waiter: Waiter) -> Waiter:
        question = _Question(message, 1, waiter, is_message=True)
        follower = self._line.popleft() if self._line and self.usable else None
        self._held = follower is not None
        return self._write(question, follower)

    def pass_on(self) -> None:
        """The transaction ended without a message: whoever is next in line begins."""
        self._held = bool(self._line) and self.usable
        if self._held:
            self._write(self._line.popleft())

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

    def leave(self, waiter: Waiter, error: SmtpLostError) -> None:
        """A hand-off waits no longer. Who has sent nothing just goes; else the connection ends.

        A message before it that waits for its answer still gets it: nothing follows the abandoned envelope.
        """
        for one in self._line:
            if one.waiter is waiter:
                self._line.remove(one)
                _settle(one.waiter, error)
                return
        is_first = not any(one.waiter is waiter for one in islice(self._questions, 1, None))
        for future in (waiter, self._drained):
            if future is not None:
                _settle(future, error)
        if is_first:
            self._fail(SmtpLostError("connection_lost", "the hand-off before was given up"))
        else:
            self.usable = False
            self._dismiss(self._line)

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
        """Hand replies to those who asked, in turn, until the server says that it closes or talks out of turn."""
        try:
            for reply in self._reader.feed(data):
                if not self._questions or self._questions[0].waiter.done():
                    self._fail(SmtpLostError("garbage_answer", "a reply that nobody asked for"))
                    return
                question = self._questions[0]
                question.replies.append(reply)
                if reply.code == _CLOSING:
                    self._answer()
                    self._fail(SmtpLostError("connection_lost", "the server closed the session"))
                    return
                if len(question.replies) == question.wanted:
                    self._answer()
        except GarbageReplyError as error:
            self._fail(SmtpLostError("garbage_answer", str(error)))
            return
        if self._reader.rest and not self._questions:
            self._fail(SmtpLostError("garbage_answer", "part of a reply that nobody asked for"))
        if self._ready is not None:
            self._go_on(self._ready)

    def resume_writing(self) -> None:
        """All that was written has been taken."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the replies that did come; without any, the dialogue is lost."""
        if not self._closed.done():
            self._closed.set_result(None)
        if self._questions and self._questions[0].replies:
            self._answer()
        self._fail(SmtpLostError("connection_lost", f"connection lost: {exc or 'closed by the far end'}"))

    # -- settling

    def _write(self, question: _Question, follower: _Question | None = None) -> Waiter:
        """Write both in one go; the first one's waiter."""
        if self.transport is None or not self.usable:
            _settle(question.waiter, SmtpLostError("connection_lost", "the connection was closed"))
            return question.waiter
        question.asked_at = self._loop.time()
        self._questions.append(question)
        if follower is None:
            self.transport.write(question.data)
        else:
            follower.asked_at = question.asked_at
            self._questions.append(follower)
            self.transport.write(question.data + follower.data)
        return question.waiter

    def _answer(self) -> None:
        question = self._questions.popleft()
        if question.is_message:
            took = self._loop.time() - question.asked_at
            self._seconds = min(took, self._seconds) * (1 - _WEIGHT) + took * _WEIGHT
        if question.go_on is not None and len(question.replies) == question.wanted:
            self._ready = question
        elif not question.waiter.done():
            question.waiter.set_result(question.replies)
        if self._questions and self._questions[0].waiter.done():
            self.drop()  # its hand-off was given up

    def _go_on(self, question: _Question) -> None:
        """Write the message, once it is certain that nothing but the envelope's replies had come."""
        self._ready = None
        message = question.go_on(question.replies) if question.go_on is not None else None
        if message is not None:
            self._finish(message, question.waiter)
        elif not question.waiter.done():
            question.waiter.set_result(question.replies)

    def _fail(self, error: SmtpLostError) -> None:
        """The first in turn gets the error; the others, whose turn it was not, learn that the connection is gone."""
        self.drop()
        if self._ready is not None:
            self._questions.appendleft(self._ready)
            self._ready = None
        if self._questions:
            _settle(self._questions.popleft().waiter, error)
        if self._drained is not None:
            _settle(self._drained, error)
        self._dismiss(self._questions)
        self._dismiss(self._line)

    def _dismiss(self, questions: deque[_Question]) -> None:
        while questions:
            _settle(questions.popleft().waiter, SmtpLostError("connection_lost", "the connection was closed"))


def _settle(waiter: Waiter | asyncio.Future[None], error: SmtpLostError) -> None:
    if not waiter.done():
        waiter.set_exception(error)
