"""What stands behind a link: a token and what it is used for in, the namespace and the person's wish out.

Keys are remembered for a minute: so long a link may stay good after its key was revoked.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from sendonce_gateway.problems import Problem
from sendonce_gateway.settings import GatewaySettings
from sendonce_gateway.store import Pool
from sendonce_store import gateway
from sendonce_store.callers import caller_of
from sendonce_store.gateway import Known
from sendonce_store.link_tokens import InvalidTokenError, Purpose, Sealer, Wish, key_id_of
from sendonce_store.rate_limits import RateLimiter

__all__ = ["Opened", "Opener"]

REMEMBERED_SECONDS = 60.0
REMEMBERED_KEYS = 4096
# of one link: a person presses a button a few times, a mailbox provider tries again now and then
LINK_RATE, LINK_BURST = 0.2, 20
# links that don't hold, of one client: many people may be behind one address
MISSES_RATE, MISSES_BURST = 1.0, 60


@dataclass(frozen=True, slots=True)
class Opened:
    """A link that holds. `other`: makes the links of the same key for the other page."""

    namespace: str
    wish: Wish
    known: Known

    def token_for(self, purpose: Purpose) -> str:
        """The same wish on another page."""
        return Sealer(self.known.key, purpose).seal(self.wish)


class Opener:
    """Opens the links of one purpose."""

    def __init__(
        self,
        pool: Pool,
        settings: GatewaySettings,
        purpose: Purpose,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._proxies = settings.proxies
        self._purpose: Purpose = purpose
        self._clock = clock
        self._keys: OrderedDict[bytes, tuple[float, Known]] = OrderedDict()
        self._per_link = RateLimiter(LINK_RATE, LINK_BURST, clock=clock)
        self._misses = RateLimiter(MISSES_RATE, MISSES_BURST, clock=clock)

    async def open(self, request: web.Request) -> Opened:
        """What the request's link is for. Raises Problem: 404, 410, 429."""
        client = caller_of(request.headers.getall("X-Forwarded-For", []), request.remote, self._proxies)
        token = request.match_info["token"]
        _pass(self._per_link.take(token))
        try:
            known = await self._key(key_id_of(token), client)
            opened = Opened(known.key.namespace, Sealer(known.key, self._purpose).open(token), known)
        except InvalidTokenError:
            _pass(self._misses.take(client))
            message = "this link is not complete: copy all of it from the message"
            raise Problem(404, "unknown_link", message) from None
        if known.revoked:
            raise Problem(410, "link_revoked", "this link is no longer good: use one from a newer message")
        return opened

    async def _key(self, key_id: bytes, client: str) -> Known:
        """The key; raises InvalidTokenError if there is none. The store is not asked for whom guesses too much."""
        since, known = self._keys.get(key_id, (0.0, None))
        if known is None or self._clock() - since > REMEMBERED_SECONDS:
            _pass(self._misses.wait(client))
            async with self._pool.connection() as conn:
                known = await gateway.link_key(conn, key_id)
            if known is None:
                raise InvalidTokenError
            self._keys[key_id] = (self._clock(), known)
            self._keys.move_to_end(key_id)
            if len(self._keys) > REMEMBERED_KEYS:
                self._keys.popitem(last=False)
        return known


def _pass(wait: float) -> None:
    if wait:
        message = "this was asked for too often: wait a moment, then try again"
        raise Problem(429, "too_many_requests", message, {"Retry-After": str(int(wait) + 1)})
