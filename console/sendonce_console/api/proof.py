"""The proof of a finished campaign for programs."""

from __future__ import annotations

from aiohttp import web

from sendonce_console.pages.proof import proved
from sendonce_console.web.routes import Routes
from sendonce_console.web.visit import Visit
from sendonce_store.proof import Proof

routes = Routes()


@routes.get(
    "/api/v1/namespaces/{namespace}/campaigns/{campaign}/proof",
    needs="campaigns",
    returns=Proof,
    query={"format": "json, csv or html; json if it is left out."},
)
async def document(visit: Visit) -> web.StreamResponse:
    """The report, as `sendonce proof` makes it; addresses in the far end's words are masked."""
    return await proved(visit, visit.query("format") or "json")
