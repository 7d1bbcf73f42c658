"""One person at their own machine: who has the address with its token may see and do everything.

The token stands in the address that `sendonce console` prints, as Jupyter does it; the first visit exchanges it for a
cookie. The host in the request must be this machine's loopback, so that no name of somebody else's leads here.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from aiohttp import web

from sendonce_console.access.viewer import What
from sendonce_console.web.problems import ProblemError
from sendonce_store.applied import account

if TYPE_CHECKING:
    from sendonce_console.console import Console

_COOKIE = "sendonce-local"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


class LocalViewer:
    """Whoever sits here."""

    def __init__(self, *, by_cookie: bool) -> None:
        """`by_cookie`: not by the token itself."""
        self.by_cookie = by_cookie

    @property
    def name(self) -> str:
        """The name of the account on this machine."""
        return account()

    async def may(self, namespace: str, what: What) -> bool:
        """Everything."""
        del namespace, what
        return True


class LocalDoor:
    """Lets in who knows the token."""

    local = True

    def __init__(self, token: str) -> None:
        """`token`: as in the printed address."""
        self._token = token
        self._cookie = hashlib.sha256(b"local" + token.encode()).hexdigest()

    async def admit(self, request: web.Request) -> LocalViewer | None:
        """By the cookie, or the token as a bearer's."""
        _check_host(request)
        if _same(request.cookies.get(_COOKIE, ""), self._cookie):
            return LocalViewer(by_cookie=True)
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return LocalViewer(by_cookie=False) if _same(bearer, self._token) else None

    def add_routes(self, app: web.Application, console: Console) -> None:
        """The way in is in the address."""

    def entrance(self, request: web.Request) -> web.Response | None:
        """The first visit: the token goes out of the address and into a cookie."""
        _check_host(request)
        if not _same(request.query.get("token", ""), self._token):
            return None
        rest = {name: value for name, value in request.query.items() if name != "token"}
        answer = web.Response(status=303, headers={"Location": str(request.rel_url.with_query(rest))})
        answer.set_cookie(_COOKIE, self._cookie, path="/", httponly=True, samesite="Strict")
        return answer

    def refusal(self, request: web.Request) -> web.Response | ProblemError:
        """What somebody is told who is not let in."""
        del request
        detail = "Open the whole address that `sendonce console` printed, with its token; a restart makes a new one."
        return ProblemError(401, "This console is somebody's own", detail)

    async def problem(self) -> str | None:
        """Nobody else is asked."""
        return None

    async def close(self) -> None:
        """Nothing to let go of."""


def _same(given: str, wanted: str) -> bool:
    # a header may hold any bytes
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


def _check_host(request: web.Request) -> None:
    host = request.host.rpartition(":")[0] if not request.host.endswith("]") and ":" in request.host else request.host
    if host not in _LOOPBACK:
        raise ProblemError(421, "This console answers on loopback only", "Open it as http://127.0.0.1 with its port.")
