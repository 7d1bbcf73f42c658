"""Access tokens that live for an hour, for far ends that ask for OAuth 2.0.

In: a :class:`Grant`, which makes the request for a token and reads its answer. Out: a token that is good for a while,
asked for once however many hand-offs wait for it. Nothing of any message has left when this fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from sendonce_worker.providers.dial import DialError
from sendonce_worker.providers.errors import SendError, TemporarySendError
from sendonce_worker.providers.http1.connection import Answer, AnswerLostError

MARGIN = 120.0
"""Seconds before its end from which a token is not used any more."""
FRESH = 30.0
"""Seconds for which a token that is refused points to the account rather than to its age."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token, and for how many seconds it is good."""

    value: str
    seconds: float


class Grant(Protocol):
    """How one far end gives tokens."""

    url: str

    def request(self, now: datetime) -> bytes:
        """Return the form to post."""
        ...

    def read(self, answer: Answer) -> Token | SendError:
        """Return the token, or what its refusal means."""
        ...


class Tokens:
    """The token of one provider. Used on one event loop."""

    def __init__(self, grant: Grant, post: Callable[[bytes], Awaitable[Answer]]) -> None:
        """``post`` sends a form to the grant's URL once."""
        self._grant = grant
        self._post = post
        self._asking: asyncio.Task[str] | None = None
        self._token = ""
        self._since = self._until = 0.0

    async def get(self) -> str:
        """Return a token. Raises ``SendError``; whatever it is, no message was accepted.

        All who wait for one answer share it, a failure too: where asking hangs, they wait for one time-out, and not for
        one each.
        """
        if self._asking is None:
            if asyncio.get_running_loop().time() < self._until:
                return self._token
            self._asking = asyncio.create_task(self._renewed())
            self._asking.add_done_callback(self._answered)
        return await asyncio.shield(self._asking)

    def drop(self, token: str) -> bool:
        """Forget a token that was refused, unless it is fresh: then it is not its age. True: another may do."""
        if token == self._token:
            if asyncio.get_running_loop().time() - self._since <= FRESH:
                return False
            self._until = 0.0
        return True

    async def _renewed(self) -> str:
        now = asyncio.get_running_loop().time()
        token = await self._ask()
        self._token, self._since, self._until = token.value, now, now + max(token.seconds - MARGIN, 1.0)
        return token.value

    def _answered(self, task: asyncio.Task[str]) -> None:
        self._asking = None
        if not task.cancelled():
            task.exception()  # looked at, else asyncio complains of one that nobody waited for

    async def _ask(self) -> Token:
        try:
            answer = await self._post(self._grant.request(datetime.now(UTC)))
        except DialError as error:
            raise TemporarySendError(error.code, f"for an access token: {error.message}") from error
        except AnswerLostError as error:
            raise TemporarySendError("token_failed", f"no access token: {error.message}") from error
        token = self._grant.read(answer)
        if isinstance(token, SendError):
            raise token
        return token
