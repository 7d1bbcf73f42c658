"""Applications add a recipient to a standing campaign: a JSON object in, `sendonce.enqueue` called, its number out.

    POST /v1/namespaces/{namespace}/campaigns/{send key}/recipients
    Authorization: Bearer …        a token of the namespace (`sendonce gateway token add`)
    Idempotency-Key: …             names the occasion: the same again is the same message, never a second one
    {"email": "ada@example.com", "order": 4711}

The token is checked by the store, in the same call: the gateway knows none. 202 is answered once it is committed; where
there was no answer the caller repeats the request as it was.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

import orjson
import psycopg
from aiohttp import web

from sendonce_gateway.bodies import read_body
from sendonce_gateway.metrics import GatewayMetrics
from sendonce_gateway.problems import Problem
from sendonce_gateway.settings import GatewaySettings
from sendonce_gateway.store import Pool
from sendonce_store import gateway
from sendonce_store.callers import caller_of
from sendonce_store.gateway import Enqueued
from sendonce_store.gateway_tokens import digest_of
from sendonce_store.rate_limits import RateLimiter

__all__ = ["enqueue_routes"]

# `sendonce.enqueue` takes 64 KiB of JSON as PostgreSQL writes it, which adds spaces
LONGEST_BODY = 64 * 1024
LONGEST_KEY = 255
# of one token: twice as many at once
BURST_SECONDS = 2
# tokens that are not good, of one client
MISSES_RATE, MISSES_BURST = 0.5, 30
REMEMBERED_TOKENS = 1024
_BEARER = re.compile(r"bearer +([!-~]{1,512}) *", re.IGNORECASE)
_NAME = re.compile(r"[!-~]{1,253}")


class Refusal(NamedTuple):
    """How an error of the store is answered."""

    status: int
    code: str


# SQLSTATEs of migrations 0006 and 0008, and of PostgreSQL's for JSON that it can't keep (a NUL, half a surrogate pair)
_REFUSALS: Mapping[str, Refusal] = {
    "SO101": Refusal(404, "unknown_campaign"),
    "SO102": Refusal(409, "not_a_stream"),
    "SO103": Refusal(409, "campaign_closed"),
    "SO104": Refusal(409, "campaign_cancelled"),
    "SO105": Refusal(422, "idempotency_key_reused"),
    "SO106": Refusal(422, "invalid_recipient"),
    "SO107": Refusal(400, "invalid_idempotency_key"),
    "22P02": Refusal(422, "invalid_recipient"),
    "22P05": Refusal(422, "invalid_recipient"),
}
BAD_TOKEN = "SO108"  # noqa: S105 - an SQLSTATE


def enqueue_routes(pool: Pool, settings: GatewaySettings, metrics: GatewayMetrics) -> list[web.RouteDef]:
    """The routes under /v1/."""
    rate = settings.enqueue_per_second
    per_token, misses = RateLimiter(rate, math.ceil(BURST_SECONDS * rate)), RateLimiter(MISSES_RATE, MISSES_BURST)
    good: OrderedDict[bytes, None] = OrderedDict()  # tokens of late: whoever has one is not held up by who guesses

    async def post(request: web.Request) -> web.Response:
        client = caller_of(request.headers.getall("X-Forwarded-For", []), request.remote, settings.proxies)
        digest = digest_of(token_of(request))
        _pass(per_token.take(digest))
        if digest not in good:
            _pass(misses.wait(client))
        key = key_of(request)
        body = await read_body(request, LONGEST_BODY, settings.body_wait)
        wanted = Enqueued(digest, _name(request, "namespace"), _name(request, "campaign"), key, recipient_of(body))
        try:
            async with pool.connection() as conn:
                number = await gateway.enqueue(conn, wanted)
        except psycopg.Error as error:
            if error.sqlstate == BAD_TOKEN:
                good.pop(digest, None)
                _pass(misses.take(client))
            raise refused(error) from error
        metrics.enqueued()
        _remember(good, digest)
        return web.Response(
            status=202,
            body=orjson.dumps({"recipient": {"number": number}}),
            content_type="application/json",
            headers={"Cache-Control": "no-store"},
        )

    return [web.post("/v1/namespaces/{namespace}/campaigns/{campaign}/recipients", post)]


def token_of(request: web.Request) -> str:
    """The bearer token (RFC 6750 §2.1). Raises Problem."""
    found = _BEARER.fullmatch(request.headers.get("Authorization", ""))
    if found is None:
        raise _unauthorized("the header Authorization must be `Bearer`, a space, and a token of the namespace")
    return found[1]


def _unauthorized(message: str) -> Problem:
    return Problem(401, "unauthorized", message, {"WWW-Authenticate": 'Bearer realm="sendonce"'})


def key_of(request: web.Request) -> str:
    """The idempotency key. Raises Problem."""
    given = request.headers.getall("Idempotency-Key", [])
    if len(given) != 1:
        message = "give one header Idempotency-Key that names the occasion, such as order-4711-shipped"
        raise Problem(400, "missing_idempotency_key", message)
    (key,) = given
    if not (key.isascii() and key.isprintable() and 1 <= len(key) <= LONGEST_KEY):
        message = f"the header Idempotency-Key must have 1 to {LONGEST_KEY} printable ASCII characters"
        raise Problem(400, "invalid_idempotency_key", message)
    return key


def recipient_of(body: bytes) -> str:
    """The recipient as JSON text, as it came: numbers keep all their digits. Raises Problem."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        message = f"the body is no JSON (RFC 8259): {error.msg}, line {error.lineno}, column {error.colno}"
        raise Problem(400, "invalid_json", message) from None
    if not isinstance(found, dict):
        message = 'the body must be one JSON object, such as {"email": "ada@example.com"}'
        raise Problem(422, "invalid_recipient", message)
    return body.decode()


def _name(request: web.Request, part: str) -> str:
    """A name in the path; what can be none is not there. Raises Problem."""
    name = request.match_info[part]
    if not _NAME.fullmatch(name):
        raise Problem(404, "unknown_campaign", f"there is no {part} of that name")
    return name


def refused(error: psycopg.Error) -> Exception:
    """The answer that an error of the store stands for; itself where it is none of ours."""
    if error.sqlstate == BAD_TOKEN:
        return _unauthorized("the token is not good for this namespace: `sendonce gateway token add` makes one")
    refusal = _REFUSALS.get(error.sqlstate or "")
    if refusal is None:
        return error
    said = (error.diag.message_primary, error.diag.message_hint)
    # PostgreSQL's own words quote what they are about
    words = "the recipient has a character that the store can't keep: a NUL, or half of a surrogate pair"
    ours = (error.sqlstate or "").startswith("SO")
    return Problem(*refusal, ". ".join(part for part in said if part) if ours else words)


def _remember(good: OrderedDict[bytes, None], digest: bytes) -> None:
    good[digest] = None
    good.move_to_end(digest)
    if len(good) > REMEMBERED_TOKENS:
        good.popitem(last=False)


def _pass(wait: float) -> None:
    if wait:
        seconds = math.ceil(wait)
        message = f"this is more than the gateway takes at once: try again in {seconds} s"
        raise Problem(429, "too_many_requests", message, {"Retry-After": str(seconds)})
