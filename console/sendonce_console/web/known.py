"""Who asks, once it is known: the door is asked once for a request, also when the page then says what went wrong.

The store is not: a menu is there while the database is away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from sendonce_console.access.viewer import Viewer

if TYPE_CHECKING:
    from sendonce_console.console import Console

# the key takes a class, and a protocol is none to it
_VIEWER: web.RequestKey[Viewer | None] = web.RequestKey("viewer", object)  # type: ignore[arg-type]


async def admitted(console: Console, request: web.Request) -> Viewer | None:
    """Ask the door. Raises ProblemError for what is offered and no good; then nobody is known."""
    request[_VIEWER] = None
    request[_VIEWER] = viewer = await console.door.admit(request)
    return viewer


async def known(console: Console, request: web.Request) -> Viewer | None:
    """Who asks, for a page that is about something else: whatever is wrong with that, it is nobody."""
    if _VIEWER not in request:
        try:
            await admitted(console, request)
        except Exception:  # noqa: BLE001 - the page says what went wrong before
            return None
    return request[_VIEWER]
