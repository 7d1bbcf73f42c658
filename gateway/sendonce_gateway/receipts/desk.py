"""Where reports come in: a request in, an answer for the provider out; what it says goes into the store.

A provider that gets 200 sends no more; one that gets 503 or 429 sends the same again. So everything that was understood
is answered 200, also what is about nothing of ours, and what could not be recorded never is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from aiohttp import web

from sendonce_gateway.bodies import read_body
from sendonce_gateway.problems import Problem
from sendonce_gateway.receipts.counting import ReceiptMetrics
from sendonce_gateway.receipts.fetching import Fetching
from sendonce_gateway.receipts.folder import ALL, SecretFolder, reporter_of
from sendonce_gateway.receipts.registry import SOURCES
from sendonce_gateway.receipts.source import ForgeryError, MalformedError, Post, SecretError, Secrets, Source
from sendonce_gateway.settings import GatewaySettings
from sendonce_gateway.store import Pool
from sendonce_store import receipts as store
from sendonce_store.rate_limits import RateLimiter
from sendonce_store.receipts import Receipt, Reporter

__all__ = ["Desk"]

logger = logging.getLogger(__name__)
LARGEST = 1024 * 1024  # SendGrid, which sends the most at once, stays below 768 KB
AT_ONCE = 64  # bodies in memory
TOGETHER = 200  # receipts in one transaction
_LOG_PER_SECOND, _LOG_BURST = 0.2, 5


class Desk:
    """Takes reports in."""

    def __init__(
        self, pool: Pool, settings: GatewaySettings, folder: SecretFolder, fetching: Fetching, metrics: ReceiptMetrics
    ) -> None:
        """Put it together; nothing is read or opened."""
        self._pool = pool
        self._settings = settings
        self._folder = folder
        self._fetching = fetching
        self._metrics = metrics
        rate = settings.receipts_per_second
        self._limiter = RateLimiter(rate, max(1, int(2 * rate)))
        self._chatter = RateLimiter(_LOG_PER_SECOND, _LOG_BURST)
        self._under_way = 0

    async def take(self, request: web.Request) -> web.Response:
        """Answer one request. Raises Problem, StoreUnavailableError."""
        reporter = reporter_of(*(request.match_info[name] for name in ("namespace", "kind", "provider")))
        source, secrets = SOURCES.get(reporter.kind), self._folder.secrets_of(reporter)
        if source is None or not any(secrets.get(name) for name in source.secrets):
            message = "no provider is set up to report at this address"
            raise Problem(404, "not_set_up", message, {"Connection": "close"})
        try:
            await self._take(request, reporter, source, secrets)
        except (ForgeryError, MalformedError, SecretError) as error:
            raise self._refused(reporter, error) from None
        return web.Response(text="ok")

    async def _take(self, request: web.Request, reporter: Reporter, source: Source, secrets: Secrets) -> None:
        self._check_rate(reporter)
        with self._room(reporter):
            body = await self._body(request, reporter)
            post = await self._with_certificate(_post(request, self._settings.public_url, body), source, secrets)
            source.verify(post, secrets, datetime.now(UTC))
            address = source.confirmation(post) if source.confirmation is not None else None
            if address is not None:
                await self._fetching.visit(address)
                logger.info("a subscription was confirmed", extra=_who(reporter))
            await self._record(reporter, source.parse(post))

    # --- too much --------------------------------------------------------------------------------------------------
    def _check_rate(self, reporter: Reporter) -> None:
        wait = self._limiter.take(reporter)
        if wait:
            self._metrics.refused(reporter.kind, "too_many")
            headers = {"Retry-After": str(int(wait) + 1), "Connection": "close"}
            raise Problem(429, "too_many", "too many requests at this address: send it again later", headers)

    @contextmanager
    def _room(self, reporter: Reporter) -> Iterator[None]:
        if self._under_way >= AT_ONCE:
            self._metrics.refused(reporter.kind, "busy")
            headers = {"Retry-After": "1", "Connection": "close"}
            raise Problem(503, "busy", "too much is under way: send it again", headers)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _body(self, request: web.Request, reporter: Reporter) -> bytes:
        try:
            return await read_body(request, LARGEST, self._settings.body_wait)
        except Problem as error:
            self._metrics.refused(reporter.kind, error.code)
            raise

    # --- from whom -------------------------------------------------------------------------------------------------
    async def _with_certificate(self, post: Post, source: Source, secrets: Secrets) -> Post:
        if source.certificate_url is None:
            return post
        return replace(post, certificate=await self._fetching.certificate(source.certificate_url(post, secrets)))

    def _refused(self, reporter: Reporter, error: ForgeryError | MalformedError | SecretError) -> Problem:
        match error:
            case ForgeryError():
                answer = Problem(401 if error.why == "no_signature" else 403, error.why, str(error))
            case MalformedError():
                answer = Problem(400, "malformed", str(error))
            case _:
                answer = Problem(503, "bad_secret", "what this is checked with can't be used", {"Retry-After": "60"})
        self._metrics.refused(reporter.kind, answer.code)
        if not self._chatter.take(reporter):
            level = logging.ERROR if isinstance(error, SecretError) else logging.WARNING
            logger.log(level, "a report was refused: %s", error, extra=_who(reporter))
        return answer

    # --- take it in ------------------------------------------------------------------------------------------------
    async def _record(self, reporter: Reporter, receipts: Sequence[Receipt]) -> None:
        unknown = 0
        for start in range(0, len(receipts), TOGETHER):
            async with self._pool.connection() as conn:
                done = await store.record(conn, reporter, receipts[start : start + TOGETHER])
            for receipt, result in done:
                self._metrics.taken(reporter.kind, receipt.kind, result)
                unknown += result == "unknown"
        if unknown and not self._chatter.take(("unknown", reporter)):
            logger.info("%d of %d reports are about nothing of ours", unknown, len(receipts), extra=_who(reporter))


def _who(reporter: Reporter) -> dict[str, str]:
    return {"namespace": reporter.namespace or ALL, "reporter": f"{reporter.kind}/{reporter.provider}"}


def _post(request: web.Request, public_url: str, body: bytes) -> Post:
    return Post(
        body=body,
        headers={name.lower(): value for name, value in request.headers.items()},
        # as the provider wrote it: what it signed is not to be decoded and put together again
        url=public_url + request.raw_path,
        query=dict(request.query),
    )
