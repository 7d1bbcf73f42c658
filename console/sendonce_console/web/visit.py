"""One request, as a handler gets it: who asks, where, with what rights, and a connection to read through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from sendonce_console.access.viewer import Viewer
from sendonce_store.connection import Connection

if TYPE_CHECKING:
    from sendonce_console.console import Console


@dataclass(frozen=True, slots=True)
class Rights:
    """What the viewer may do in the namespace of the route; all False in a route without one."""

    people: bool = False
    levers: bool = False
    wishes: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """What a handler works with.

    `namespaces`: those that the connection reads; in a route with a namespace, that one alone. `connection`: None for a
    route that reads nothing.
    `form`: the fields of a POST (files as text are read by the handler).
    """

    request: web.Request
    console: Console
    viewer: Viewer
    namespace: str
    namespaces: Sequence[str]
    rights: Rights
    connection: Connection | None
    form: Mapping[str, str]
    csrf: str

    @property
    def conn(self) -> Connection:
        """In a transaction that can only read, kept to `namespaces` by row-level security; statements name them too."""
        if self.connection is None:
            raise RuntimeError("a route with reads=False has no connection: leave it out to read")
        return self.connection

    @property
    def campaign(self) -> str:
        """The campaign of the route: the name of its object, or its send key."""
        return self.request.match_info["campaign"]

    def query(self, name: str, default: str = "") -> str:
        """A parameter of the address, without the spaces around it."""
        return self.request.query.get(name, default).strip()
