"""Forms that nobody else's page can send: a random cookie, and in each form a token made of it by this console alone.

The token is an HMAC over the cookie, so nothing is kept on the server; the cookie is SameSite=Strict. It guards every
POST of a page, signing in as well (else somebody could be signed in as another without noticing).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from aiohttp import web

from sendonce_console.web.problems import ProblemError

FIELD, HEADER = "csrf", "X-CSRF-Token"
_REFUSED = (
    "Reload the page and send the form again. Pages that stand open for long, or cookies that are refused, cause it."
)


class Forms:
    """Makes and checks the tokens of forms."""

    def __init__(self, key: bytes, *, local: bool) -> None:
        """`local`: plain http on the loopback interface, where browsers keep no `__Host-` cookie."""
        self._key = hashlib.sha256(b"forms" + key).digest()
        self._local = local

    @property
    def cookie(self) -> str:
        """The cookie's name."""
        return "sendonce-form" if self._local else "__Host-sendonce-form"

    def seed(self, request: web.Request) -> str:
        """The cookie of this browser, or a new one."""
        found = request.cookies.get(self.cookie, "")
        return found if len(found) == _LENGTH else secrets.token_urlsafe(_BYTES)

    def token(self, seed: str) -> str:
        """What the form carries."""
        return hmac.new(self._key, seed.encode(), hashlib.sha256).hexdigest()

    def keep(self, request: web.Request, response: web.StreamResponse, seed: str) -> None:
        """Give the browser its cookie, if it has none."""
        if request.cookies.get(self.cookie) != seed:
            secure = not self._local
            response.set_cookie(self.cookie, seed, path="/", secure=secure, httponly=True, samesite="Strict")

    def check(self, request: web.Request, given: str) -> None:
        """Raise ProblemError unless the request comes from a page of this console."""
        elsewhere = request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}
        seed = request.cookies.get(self.cookie, "")
        offered = given.encode("utf-8", "surrogateescape")  # a header may hold any bytes
        if elsewhere or not seed or not hmac.compare_digest(self.token(seed).encode(), offered):
            raise ProblemError(403, "The form was not accepted", _REFUSED)


_BYTES = 24
_LENGTH = len(secrets.token_urlsafe(_BYTES))
