"""Providers: the pace budget that is used, pauses, late errors, and what their answers are taken for."""

from __future__ import annotations

import asyncio

from aiohttp import web

from sendonce_console.views.providers import ProviderView, classification, masked_errors, provider_views
from sendonce_console.web.problems import not_found
from sendonce_console.web.routes import Routes
from sendonce_console.web.templating import page
from sendonce_console.web.visit import Visit
from sendonce_store import console_campaigns, console_providers

routes = Routes()


async def read_views(visit: Visit, *, people: bool) -> list[ProviderView]:
    """All that the viewer's namespaces use."""
    found = await console_providers.providers(visit.conn, visit.namespaces) if visit.namespaces else []
    limits = await console_providers.limits(visit.conn, [one.id for one in found])
    going = sorted({campaign for one in found for campaign in one.campaigns})
    recent = await console_campaigns.recent(visit.conn, going)
    return provider_views(found, limits, recent, people=people)


@routes.get("/providers", needs="campaigns")
async def providers(visit: Visit) -> web.Response:
    """The list."""
    return page(visit, "providers.html", views=await read_views(visit, people=False), of=None)


@routes.get("/ns/{namespace}/providers", needs="campaigns")
async def of_namespace(visit: Visit) -> web.Response:
    """Those of one namespace."""
    return page(visit, "providers.html", views=await read_views(visit, people=False), of=visit.namespace)


@routes.get("/providers/{provider}", needs="campaigns")
async def provider(visit: Visit) -> web.Response:
    """One of them."""
    wanted = visit.request.match_info["provider"]
    people = await sees_people(visit)
    views = await read_views(visit, people=people)
    found = next((one for one in views if str(one.provider.id) == wanted), None)
    if found is None:
        raise not_found("There is no such provider", "It may be gone, or none of your namespaces uses it.")
    errors = await console_providers.late_errors(visit.conn, visit.namespaces, found.provider.id)
    return page(
        visit,
        "provider.html",
        view=found,
        errors=masked_errors(errors, people=people),
        rules=classification(found.provider.spec),
    )


async def sees_people(visit: Visit) -> bool:
    """Whether the viewer may see people in all the namespaces at hand: then nothing has to be masked."""
    answers = await asyncio.gather(*(visit.viewer.may(name, "people") for name in visit.namespaces))
    return all(answers)
