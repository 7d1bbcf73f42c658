"""The client: one request, one answer, within one total deadline.

In: the bytes of a request and a clearance that is asked right before they leave. Out: an
:class:`Answer`, or one of

* :class:`DialError`: nothing was sent (no connection, or no free one, within the time-out);
* what the clearance raised: nothing was sent, the connection is kept;
* :class:`AnswerLostError`: it was sent, at least in part, and the outcome is not known.

Redirects are not followed, requests are not repeated.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from sendonce_worker.providers.deadlines import Deadlines
from sendonce_worker.providers.dial import DialError, Endpoint, open_transport, upgrade_to_tls
from sendonce_worker.providers.http1.connection import IDLE_SECONDS, Answer, Http1Connection
from sendonce_worker.providers.http1.proxy import Proxy, open_tunnel
from sendonce_worker.providers.http1.target import Target
from sendonce_worker.providers.pool import Pool, PoolClosedError


class Client:
    """Requests to one origin over kept connections, at most ``limit`` at a time."""

    def __init__(
        self,
        target: Target,
        tls: ssl.SSLContext | None,
        *,
        limit: int,
        timeout: float,
        proxy: Proxy | None = None,
    ) -> None:
        """``tls`` is needed for https targets; ``timeout`` in seconds covers connect, TLS, send and answer."""
        self._target = target
        self._tls = tls
        self._proxy = proxy
        self._timeout = timeout
        self._deadlines = Deadlines()
        self._pool: Pool[Http1Connection] = Pool(self._open, limit, IDLE_SECONDS)

    async def exchange(self, request: bytes, clearance: Callable[[], None]) -> Answer:
        """Send ``request`` once and return the answer; see the module for what is raised."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        due = now + self._timeout
        connection = self._pool.take(now) or await self._connect(due)
        try:
            clearance()
            self._deadlines.start(connection, due)
            return await connection.request(request)
        except asyncio.CancelledError:
            connection.abandon()
            raise
        finally:
            self._deadlines.stop(connection)
            self._pool.give_back(connection, loop.time())

    async def aclose(self) -> None:
        """Close idle connections; requests under way may still end."""
        await self._pool.aclose()

    async def _connect(self, due: float) -> Http1Connection:
        try:
            async with asyncio.timeout_at(due):
                return await self._pool.open()
        except TimeoutError as error:
            raise DialError("connect_timeout", f"{self._target.authority}: not connected in time") from error
        except PoolClosedError as error:
            raise DialError("closed", "the provider is being closed") from error

    async def _open(self) -> Http1Connection:
        endpoint = Endpoint(self._target.host, self._target.port, self._tls)
        if self._proxy is None:
            return (await open_transport(Http1Connection, endpoint))[1]
        if self._tls is None:
            return (await open_transport(Http1Connection, self._proxy.endpoint))[1]
        return await self._open_through_tunnel(self._proxy, self._tls, endpoint)

    async def _open_through_tunnel(self, proxy: Proxy, tls: ssl.SSLContext, endpoint: Endpoint) -> Http1Connection:
        transport, _ = await open_tunnel(proxy, self._target)
        connection = Http1Connection()
        transport.set_protocol(connection)
        upgraded = await upgrade_to_tls(transport, connection, tls, endpoint)
        connection.connection_made(upgraded)
        return connection
