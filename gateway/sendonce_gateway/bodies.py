"""Reading a request's body within bounds: never more than so many bytes, and never for longer than so many seconds."""

from __future__ import annotations

import asyncio

from aiohttp import web

from sendonce_gateway.problems import Problem

__all__ = ["read_body"]


async def read_body(request: web.Request, limit: int, seconds: float) -> bytes:
    """Return the body. Raises Problem: 413 if it has more than `limit` bytes, 408 if it takes longer than `seconds`."""
    if request.content_length is not None and request.content_length > limit:
        raise _too_large(limit)
    pieces: list[bytes] = []
    room = limit
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.content.iter_any():
                room -= len(piece)
                if room < 0:
                    raise _too_large(limit)
                pieces.append(piece)
    except TimeoutError:
        message = f"the body has not arrived within {seconds:g} s"
        raise Problem(408, "too_slow", message, {"Connection": "close"}) from None
    return b"".join(pieces)


def _too_large(limit: int) -> Problem:
    # what follows of the body is not read: the connection can't be used again
    return Problem(413, "too_large", f"the body may have at most {limit} bytes", {"Connection": "close"})
