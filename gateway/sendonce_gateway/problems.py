"""Answers that say what is wrong, for programs: a status, a code and a sentence in, JSON out."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from aiohttp import web

__all__ = ["Problem", "problem"]


class Problem(Exception):  # noqa: N818 - it is an answer, as aiohttp's HTTPNotFound is
    """Ends a request with this answer. `code` is for programs and stays as it is, `message` is for people."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})


def problem(error: Problem) -> web.Response:
    """The answer to a program."""
    body = orjson.dumps({"error": {"code": error.code, "message": error.message}})
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **error.headers}
    return web.Response(status=error.status, body=body, content_type="application/json", headers=headers)
