"""Recipients and people for programs."""

from __future__ import annotations

from aiohttp import web

from sendonce_console.api.people_shapes import (
    FoundAddress,
    PeopleFound,
    PersonRecord,
    RecipientList,
    found_person,
    person_of,
    recipient_of,
)
from sendonce_console.pages.campaign import find_campaign
from sendonce_console.pages.people import look_for
from sendonce_console.pages.person import find_person
from sendonce_console.views.filtering import read_filter, read_limit, read_place
from sendonce_console.views.searching import refusal
from sendonce_console.web.problems import bad_request
from sendonce_console.web.records import reply
from sendonce_console.web.routes import Routes
from sendonce_console.web.visit import Visit
from sendonce_store import console_people

routes = Routes()
RECIPIENTS = "/api/v1/namespaces/{namespace}/campaigns/{campaign}/recipients"
_FILTERS = {
    "state": "Only deliveries in this state; several times: any of them.",
    "channel": "Only over this channel; several times: any of them.",
    "reason": "Only with this reason, such as retries_exhausted; several times: any of them.",
    "code": "Only with this code of the far end's; several times: any of them.",
    "after": "`next` of the page before.",
    "limit": "How many, 1 to 500; 100 if it is left out.",
}


@routes.get(RECIPIENTS, needs="people", returns=RecipientList, query=_FILTERS)
async def recipients(visit: Visit) -> web.Response:
    """The deliveries of a campaign, from a place on."""
    campaign = await find_campaign(visit)
    found = await console_people.recipients(
        visit.conn,
        (campaign.namespace, campaign.id),
        read_filter(visit.request.query),
        after=read_place(visit.query("after")),
        limit=read_limit(visit.query("limit")),
    )
    place = None if found.next is None else f"{found.next[0]}-{found.next[1]}"
    return reply(RecipientList([recipient_of(one) for one in found.items], place))


@routes.get(RECIPIENTS + "/{recipient}", needs="people", returns=PersonRecord)
async def person(visit: Visit) -> web.Response:
    """One person: attempts, what the far end said, the content that went out, consent. By id, address or `line:12`."""
    found = await find_person(visit)
    return reply(person_of(found.campaign.name, found.view, found.kept, found.elsewhere))


@routes.get(
    "/api/v1/namespaces/{namespace}/people",
    needs="people",
    returns=PeopleFound,
    query={"q": "An address, an id, a message id, or the first three characters of an address."},
)
async def people(visit: Visit) -> web.Response:
    """Find a person over all campaigns of a namespace."""
    text = visit.query("q")
    refused = refusal(text)
    if refused is not None:
        raise bad_request("q", "can't be looked for", refused)
    found = await look_for(visit, text)
    begins = [FoundAddress(one.channel, one.address, one.campaigns) for one in found.begins]
    return reply(PeopleFound([found_person(hit) for hit in found.hits], begins))
