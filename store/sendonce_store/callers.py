"""Who asks: the address that rate limits count by, behind proxies too. It is never logged."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["caller_of"]


def caller_of(forwarded: Iterable[str], remote: str | None, proxies: int) -> str:
    """The caller's address, as the outermost of our `proxies` saw it; what the caller wrote itself is left out.

    `forwarded`: every line of X-Forwarded-For that came, in order; a proxy may add a line of its own, or go on in the
    last one (RFC 9110, 5.3: both say the same). Each adds at the end the address that it was asked from. `remote`:
    who is connected, for requests that came past the proxies.
    """
    hops = [hop.strip() for line in forwarded for hop in line.split(",")]
    return hops[-proxies] if 0 < proxies <= len(hops) else remote or ""
