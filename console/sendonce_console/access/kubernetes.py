"""Signed in by Kubernetes: a bearer token, or a session that holds one, in; a viewer with the rights of its user out.

A program, or an authenticating proxy in front, sends the user's token in `Authorization`. A person pastes one into the
form of `sign_in`. Both ways the token is reviewed; rights are asked of the API server for each namespace.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from aiohttp import web

from sendonce_console.access import sign_in
from sendonce_console.access.reviews import Identity, Reviews
from sendonce_console.access.sessions import Sessions
from sendonce_console.access.viewer import What
from sendonce_console.metrics import ConsoleMetrics
from sendonce_console.settings import ConsoleSettings
from sendonce_console.web.problems import ProblemError
from sendonce_console.web.templating import address
from sendonce_store.callers import caller_of
from sendonce_store.rate_limits import RateLimiter

if TYPE_CHECKING:
    from sendonce_console.console import Console

# tries that failed, and as many at once at the beginning: of one address, and of all
PER_MINUTE, ALL_PER_MINUTE = 10, 300
LONGEST_TOKEN = 16_384
MOST_GOOD = 10_000


class KubernetesViewer:
    """A user of the cluster."""

    def __init__(self, identity: Identity, reviews: Reviews, *, by_cookie: bool, levers: bool) -> None:
        """Rights are asked for when they are needed; `levers`: whether anything can be ordered here at all."""
        self._identity, self._reviews, self._levers = identity, reviews, levers
        self.by_cookie = by_cookie

    @property
    def name(self) -> str:
        """The user's name in the cluster."""
        return self._identity.name

    async def may(self, namespace: str, what: What) -> bool:
        """Whoever may in all namespaces is asked about once."""
        if what in {"levers", "wishes"} and not self._levers:
            return False
        everywhere = await self._reviews.may(self._identity, "", what)
        return everywhere or await self._reviews.may(self._identity, namespace, what)


class Tries:
    """Tokens that were not accepted: how many of one address, and how many of all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """None yet. `clock` in seconds, growing."""
        self._own = RateLimiter(PER_MINUTE / 60, PER_MINUTE, clock=clock)
        self._all = RateLimiter(ALL_PER_MINUTE / 60, ALL_PER_MINUTE, slots=1, clock=clock)

    def wait(self, caller: str) -> float:
        """Seconds until the address may try; 0: now."""
        return max(self._own.wait(caller), self._all.wait(None))

    def note(self, caller: str) -> None:
        """One try that failed."""
        self._own.take(caller)
        self._all.take(None)


class KubernetesDoor:
    """Lets in whose token the API server knows."""

    local = False

    def __init__(self, reviews: Reviews, settings: ConsoleSettings, metrics: ConsoleMetrics) -> None:
        """`reviews`: how the API server is asked; `metrics`: where tokens that are refused are counted."""
        self.reviews, self._metrics = reviews, metrics
        self.sessions = Sessions(settings.key, settings.session_seconds)
        self._tries = Tries()
        self._good: OrderedDict[bytes, None] = OrderedDict()
        self._hops, self._levers = settings.proxy_hops, settings.levers

    async def admit(self, request: web.Request) -> KubernetesViewer | None:
        """By a bearer token, else by the session. Raises ProblemError for a bearer token that is no good."""
        scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and bearer:
            return KubernetesViewer(
                await self.identify(request, bearer.strip()), self.reviews, by_cookie=False, levers=self._levers
            )
        token = self.sessions.token(request)
        identity = None if token is None else await self.reviews.who(token)
        return (
            None if identity is None else KubernetesViewer(identity, self.reviews, by_cookie=True, levers=self._levers)
        )

    async def identify(self, request: web.Request, token: str) -> Identity:
        """Whose token it is. Raises ProblemError: the same whatever is wrong with it; another for too many tries."""
        # a header may hold any bytes; a token is ASCII (RFC 6750 §2.1)
        digest, caller = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest(), self.caller(request)
        # whoever was let in before is not shut out by the guesses of others behind the same address
        wait = 0.0 if digest in self._good else self._tries.wait(caller)
        if wait:
            self._metrics.refused("too_many_tries")
            detail = f"Try again in {math.ceil(wait)} seconds."
            raise ProblemError(
                429, "Too many tokens that were not accepted", detail, {"Retry-After": str(math.ceil(wait))}
            )
        identity = await self.reviews.who(token) if len(token) <= LONGEST_TOKEN and token.isascii() else None
        if identity is None:
            self._good.pop(digest, None)
            self._tries.note(caller)
            self._metrics.refused("unknown")
            raise ProblemError(401, sign_in.REFUSED, sign_in.WHY, {"WWW-Authenticate": "Bearer"})
        self._good[digest] = None
        while len(self._good) > MOST_GOOD:
            self._good.popitem(last=False)
        return identity

    def caller(self, request: web.Request) -> str:
        """The address that asks; behind so many proxies of ours, what the outermost of them saw."""
        return caller_of(request.headers.getall("X-Forwarded-For", []), request.remote, self._hops)

    def add_routes(self, app: web.Application, console: Console) -> None:
        """The form."""
        sign_in.add_routes(app, console, self)

    def entrance(self, request: web.Request) -> web.Response | None:
        """There is a page for it."""
        del request
        return None

    def refusal(self, request: web.Request) -> web.Response | ProblemError:
        """To the form, and back here afterwards."""
        here = str(request.rel_url) if request.method in {"GET", "HEAD"} else ""
        why = "ended" if self.sessions.offered(request) else ""
        return web.Response(status=303, headers={"Location": address("/sign-in", {"next": here, "why": why})})

    async def problem(self) -> str | None:
        """Why the API server can't be asked who somebody is."""
        return await self.reviews.problem()

    async def close(self) -> None:
        """Close the connections to the API server."""
        await self.reviews.close()
