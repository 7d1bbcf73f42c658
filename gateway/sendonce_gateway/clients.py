"""Who asks: the address that rate limits count by. It is never logged."""

from __future__ import annotations

from aiohttp import web

__all__ = ["client_of"]


def client_of(request: web.Request, proxies: int) -> str:
    """The client's address, as the outermost of our `proxies` saw it; whatever the client wrote itself is left out.

    Each proxy adds the address that it was asked from at the end of X-Forwarded-For.
    """
    if proxies:
        hops = [hop.strip() for line in request.headers.getall("X-Forwarded-For", []) for hop in line.split(",")]
        if len(hops) >= proxies:
            return hops[-proxies]
    return request.remote or ""
