"""The table of routes. A route can't be entered without saying what its viewer needs.

    routes = Routes()

    @routes.get("/ns/{namespace}/campaigns/{campaign}", needs="campaigns")
    async def campaign(visit: Visit) -> web.StreamResponse: ...

`needs` is a right in the route's namespace ("campaigns", "people", "levers"); in a route without `{namespace}` it
narrows `visit.namespaces` to those where the viewer has it. "sign-in": any viewer, who sees no rows. What needs nobody
(static files, the way in) is in `app` by itself. `reads=False`: it has no connection, so that it works without the
database, and holds none while it takes its time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from aiohttp import web

if TYPE_CHECKING:
    from sendonce_console.web.visit import Visit

Need = Literal["campaigns", "people", "levers", "sign-in"]
Handler = Callable[["Visit"], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Route:
    """One route. For the description of the API: `returns` and `takes` are records, `query` is name → what it means."""

    method: str
    path: str
    needs: Need
    handler: Handler
    returns: object = None
    takes: object = None
    query: Mapping[str, str] = field(default_factory=dict)
    reads: bool = True

    @property
    def is_api(self) -> bool:
        """Whether programs ask here."""
        return self.path.startswith("/api/")


class Routes:
    """Routes of one module, in order."""

    def __init__(self) -> None:
        """Nothing in it yet."""
        self._table: list[Route] = []

    def __iter__(self) -> Iterator[Route]:
        """The routes in the order of their registration."""
        return iter(self._table)

    def get(
        self,
        path: str,
        *,
        needs: Need,
        returns: object = None,
        query: Mapping[str, str] | None = None,
        reads: bool = True,
    ) -> Callable[[Handler], Handler]:
        """Register what answers GET (and HEAD)."""

        def enter(handler: Handler) -> Handler:
            self._table.append(Route("GET", path, needs, handler, returns, None, query or {}, reads))
            return handler

        return enter

    def post(
        self, path: str, *, needs: Need, returns: object = None, takes: object = None, reads: bool = True
    ) -> Callable[[Handler], Handler]:
        """Register what answers POST; the form's token is checked before the handler runs."""

        def enter(handler: Handler) -> Handler:
            self._table.append(Route("POST", path, needs, handler, returns, takes, reads=reads))
            return handler

        return enter
