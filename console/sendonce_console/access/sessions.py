"""The session of a browser: the viewer's token in, sealed, short-lived cookies out. Nothing is kept on the server.

The token is encrypted and signed (Fernet) with a key that only the console has; each request opens it and has it
reviewed like any other, so a token that was revoked or ran out ends the session within seconds. SameSite=Strict and
HttpOnly; `__Host-` needs https and no domain. A long token (OIDC) is spread over several cookies, as one holds 4 KB.
"""

from __future__ import annotations

import base64
import hashlib

from aiohttp import web
from cryptography.fernet import Fernet, InvalidToken

_NAME = "__Host-sendonce"
_PIECE, _MOST = 3500, 4


class Sessions:
    """Seals and opens sessions of one length."""

    def __init__(self, key: bytes, seconds: float) -> None:
        """`key`: as in all replicas; `seconds`: how long a session lasts at most."""
        self._seal = Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"sessions" + key).digest()))
        self._seconds = int(seconds)

    def offered(self, request: web.Request) -> bool:
        """Whether the browser has a session, good or not."""
        return f"{_NAME}-0" in request.cookies

    def token(self, request: web.Request) -> str | None:
        """The viewer's token; None without a session, and with one that is forged or over."""
        sealed = "".join(request.cookies.get(f"{_NAME}-{no}", "") for no in range(_MOST))
        try:
            return self._seal.decrypt(sealed.encode(), ttl=self._seconds).decode() if sealed else None
        except (InvalidToken, UnicodeDecodeError):
            return None

    def fits(self, token: str) -> bool:
        """Whether cookies can hold it."""
        return len(self._seal.encrypt(token.encode())) <= _PIECE * _MOST

    def begin(self, response: web.StreamResponse, token: str) -> None:
        """Give the browser its session."""
        sealed = self._seal.encrypt(token.encode()).decode()
        for no in range(_MOST):
            piece = sealed[no * _PIECE : (no + 1) * _PIECE]
            if piece:
                response.set_cookie(
                    f"{_NAME}-{no}",
                    piece,
                    max_age=self._seconds,
                    path="/",
                    secure=True,
                    httponly=True,
                    samesite="Strict",
                )
            else:
                _forget(response, no)

    def end(self, response: web.StreamResponse) -> None:
        """Take it away."""
        for no in range(_MOST):
            _forget(response, no)


def _forget(response: web.StreamResponse, no: int) -> None:
    response.del_cookie(f"{_NAME}-{no}", path="/", secure=True, httponly=True, samesite="Strict")
