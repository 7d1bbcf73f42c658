"""Campaigns for programs."""

from __future__ import annotations

from aiohttp import web

from sendonce_console.api.shapes import CampaignDetail, CampaignList, campaign_of, detail_of
from sendonce_console.pages.campaign import find_campaign, read_detail
from sendonce_console.pages.campaigns import read_rows, wish_of
from sendonce_console.web.problems import bad_request
from sendonce_console.web.records import reply
from sendonce_console.web.routes import Routes
from sendonce_console.web.visit import Visit

routes = Routes()
_MOST = 100
_QUERY = {
    "state": "Only those whose Ready.reason is this, such as Sending.",
    "q": "A text in name or send key.",
    "after": "`next` of the page before.",
    "limit": "How many, 1 to 100; 25 if it is left out.",
}


@routes.get("/api/v1/campaigns", needs="campaigns", returns=CampaignList, query=_QUERY)
async def campaigns(visit: Visit) -> web.StreamResponse:
    """The campaigns of all namespaces that are yours, the newest first."""
    rows, following = await read_rows(visit, wish_of(visit), read_limit(visit, _MOST))
    people = visit.rights.people
    items = [campaign_of(row, people=people) for row in rows]
    return reply(CampaignList(items, None if following is None else str(following)))


@routes.get("/api/v1/namespaces/{namespace}/campaigns", needs="campaigns", returns=CampaignList, query=_QUERY)
async def of_namespace(visit: Visit) -> web.StreamResponse:
    """The campaigns of a namespace, the newest first."""
    return await campaigns(visit)


@routes.get("/api/v1/namespaces/{namespace}/campaigns/{campaign}", needs="campaigns", returns=CampaignDetail)
async def campaign(visit: Visit) -> web.Response:
    """A campaign: counts, failures, workers, and what happened."""
    detail = await read_detail(visit, await find_campaign(visit))
    return reply(detail_of(detail, people=visit.rights.people))


def read_limit(visit: Visit, most: int, default: int = 25) -> int:
    """How many are asked for. Raises ProblemError."""
    text = visit.query("limit", str(default))
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= most:
        raise bad_request("limit", f"{text[:20]!r} is not a number from 1 to {most}", "Leave it out, or give one.")
    return int(text)
