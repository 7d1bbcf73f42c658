"""The interface between pages and whoever decides who may see what: a request in, a viewer who may or may not out.

`Door` has two makers, `kubernetes` (the API server says who and what) and `local` (one person at their own machine).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from aiohttp import web

from sendonce_console.web.problems import ProblemError

if TYPE_CHECKING:
    from sendonce_console.console import Console

What = Literal["campaigns", "people", "levers", "wishes"]
WHATS: tuple[What, ...] = ("campaigns", "people", "levers", "wishes")


class Viewer(Protocol):
    """Somebody who is signed in."""

    @property
    def name(self) -> str:
        """Who it is, as levers are recorded."""

    @property
    def by_cookie(self) -> bool:
        """Whether the browser sends who it is by itself: then every POST must carry the form's token."""

    async def may(self, namespace: str, what: What) -> bool:
        """Tell whether campaigns, people, levers or wishes (campaigns' specs) of a namespace are for this viewer."""


class Door(Protocol):
    """Lets viewers in."""

    @property
    def local(self) -> bool:
        """Whether this is one person's own machine: no signing in, no cluster."""

    async def admit(self, request: web.Request) -> Viewer | None:
        """Who asks; None: nobody that is known. Raises ProblemError for what is offered and no good."""

    def add_routes(self, app: web.Application, console: Console) -> None:
        """Its own way in and out, which needs nobody to be signed in."""

    def entrance(self, request: web.Request) -> web.Response | None:
        """An answer for a request that does no more than let somebody in; None for any other."""

    def refusal(self, request: web.Request) -> web.Response | ProblemError:
        """What somebody gets who is not let in: where to sign in, or why not."""

    async def problem(self) -> str | None:
        """Why nobody can be let in now, for operators; None: all is well."""

    async def close(self) -> None:
        """Let go of connections."""
