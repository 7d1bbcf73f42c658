"""Providers for programs."""

from __future__ import annotations

from aiohttp import web

from sendonce_console.api.shapes import ProviderList, provider_of
from sendonce_console.pages.providers import read_views
from sendonce_console.web.records import reply
from sendonce_console.web.routes import Routes
from sendonce_console.web.visit import Visit

routes = Routes()


@routes.get("/api/v1/namespaces/{namespace}/providers", needs="campaigns", returns=ProviderList)
async def providers(visit: Visit) -> web.Response:
    """The providers of a namespace, and the cluster providers that its campaigns use."""
    views = await read_views(visit, people=visit.rights.people)
    return reply(ProviderList([provider_of(one) for one in views]))
