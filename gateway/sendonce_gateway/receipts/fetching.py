"""What is asked of AWS: the certificate of a signature, kept; and the confirmation of a subscription.

Addresses come checked (`sns`). Forgeries may name certificates that nobody has: few are asked for, and few are kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector

from sendonce_gateway.problems import Problem
from sendonce_store.rate_limits import RateLimiter

__all__ = ["Fetching"]

logger = logging.getLogger(__name__)
_TIMEOUT = ClientTimeout(total=5)
_LARGEST = 64 * 1024
_KEPT = 32
_PER_SECOND, _BURST = 0.5, 10
_OK = 200


class Fetching:
    """Asks, remembers, and does not ask too often."""

    def __init__(self, connector: Callable[[], TCPConnector] = TCPConnector) -> None:
        """Nothing is asked before it is needed."""
        self._connector = connector
        self._limiter = RateLimiter(_PER_SECOND, _BURST, slots=1)
        self._certificates: OrderedDict[str, bytes] = OrderedDict()
        self._lock = asyncio.Lock()

    async def certificate(self, url: str) -> bytes:
        """The PEM at this address. Raises Problem: 503, so that the provider sends the same again."""
        if url not in self._certificates:
            async with self._lock:  # who needs the same one waits for it
                if url not in self._certificates:
                    self._certificates[url] = await self._get(url, "the certificate of the signature")
        self._certificates.move_to_end(url)
        while len(self._certificates) > _KEPT:
            self._certificates.popitem(last=False)
        return self._certificates[url]

    async def visit(self, url: str) -> None:
        """Confirm a subscription. Raises Problem: 503."""
        await self._get(url, "the confirmation of the subscription")

    async def _get(self, url: str, what: str) -> bytes:
        wait = self._limiter.take("aws")
        if wait:
            raise _later(what, wait)
        try:
            status, body = await self._ask(url)
        except (ClientError, TimeoutError, OSError) as error:
            logger.warning("%s can't be asked for: %s", what, type(error).__name__)
            raise _later(what, 10) from None
        if status != _OK:
            logger.warning("%s: AWS answered %d", what, status)
            raise _later(what, 10)
        return body

    async def _ask(self, url: str) -> tuple[int, bytes]:
        async with (
            ClientSession(connector=self._connector(), timeout=_TIMEOUT, trust_env=True) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            body = b""
            while len(body) < _LARGEST and (piece := await answer.content.read(_LARGEST)):
                body += piece
            return answer.status, body


def _later(what: str, seconds: float) -> Problem:
    message = f"{what} can't be had from AWS at the moment"
    return Problem(503, "no_certificate", message, {"Retry-After": str(int(seconds) + 1)})
