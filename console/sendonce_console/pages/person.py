"""One person: each attempt, what the far end answered, what went out, consent, and why nothing did."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from sendonce_console.levers.wording import TITLES
from sendonce_console.pages.campaign import find_campaign
from sendonce_console.pages.people import PERSON, person_address
from sendonce_console.views.contents import contents_of
from sendonce_console.views.person import Kept, PersonView, kept_from, person_view
from sendonce_console.web.headers import framed
from sendonce_console.web.problems import ProblemError, not_found
from sendonce_console.web.routes import Routes
from sendonce_console.web.templating import page
from sendonce_console.web.visit import Visit
from sendonce_store import campaigns, console_people, people
from sendonce_store.addresses import normalised
from sendonce_store.campaigns import StoredCampaign
from sendonce_store.console_people import AddressHit
from sendonce_store.links import frozen_links
from sendonce_store.named_people import line_of
from sendonce_store.people import Person
from sendonce_store.standing import Overview
from sendonce_store.tracing import trace

routes = Routes()
_EMPTY = "<!doctype html><title>Nothing</title><p>There is no HTML in this message.</p>"


@dataclass(frozen=True, slots=True)
class Found:
    """A person of a campaign, with all that is known of them."""

    campaign: Overview
    stored: StoredCampaign
    view: PersonView
    kept: list[Kept]
    elsewhere: list[AddressHit]

    @property
    def line(self) -> int:
        """The person's line."""
        return self.view.trace.person.no


async def find_person(visit: Visit) -> Found:
    """The person of the route. Raises ProblemError."""
    campaign = await find_campaign(visit)
    stored = await campaigns.read(visit.conn, campaign.namespace, campaign.send_key)
    if stored is None:
        raise not_found(f"Campaign {campaign.name} is gone", "It was deleted a moment ago.")
    return await read_person(visit, campaign, stored, (await _candidates(visit, campaign, stored))[0])


async def read_person(visit: Visit, campaign: Overview, stored: StoredCampaign, person: Person) -> Found:
    """Everything about a person."""
    found = await trace(visit.conn, campaign, stored, person)
    links = await frozen_links(visit.conn, campaign.id)
    contents = await contents_of(stored.spec, person, [one.delivery for one in found.deliveries], links)
    own = {channel: pair[1] for channel, pair in person.addresses.items()}
    suppressions, opt_outs = await console_people.consent_of(visit.conn, campaign.namespace, own)
    hits = await console_people.by_address(visit.conn, (campaign.namespace,), own) if own else []
    return Found(
        campaign,
        stored,
        person_view(found, contents, stored.spec.messages),
        kept_from(suppressions, opt_outs),
        [hit for hit in hits if hit.campaign_id != campaign.id],
    )


async def _candidates(visit: Visit, campaign: Overview, stored: StoredCampaign) -> list[Person]:
    """Recipients who are called so: by line, else by id, else by address; at least one. Raises ProblemError."""
    who = visit.request.match_info["recipient"]
    line = line_of(who)
    if "\x00" in who:
        raise _absent(campaign, "This")
    if line is not None:
        found = await people.people_by_line(visit.conn, campaign.id, line)
        if not found:
            raise await _absent_line(visit, campaign, line)
        return found
    channels = [message.channel.value for message in stored.spec.messages]
    found = await people.people_by_ref(visit.conn, campaign.id, who)
    found = found or await people.people_by_delivery(visit.conn, campaign.id, normalised(who, channels))
    if not found:
        raise _absent(campaign, "This")
    return found


async def _absent_line(visit: Visit, campaign: Overview, line: int) -> ProblemError:
    refused = await console_people.reject_of_line(visit.conn, (campaign.namespace, campaign.id), line)
    if refused is not None:
        return not_found(
            f"Line {line} of the source was refused",
            f"{refused.field}: {refused.reason}. Nobody was made of it; mend the row and send it in another campaign.",
        )
    return _absent(campaign, f"Line {line}")


def _absent(campaign: Overview, who: str) -> ProblemError:
    title = f"{who} is no recipient of {campaign.name}"
    if campaign.data_deleted_at is not None:
        when = campaign.data_deleted_at.isoformat(timespec="seconds")
        return not_found(
            title, f"The recipients' data was deleted at {when}, as the campaign asked; its counts are left."
        )
    if not campaign.imported:
        return not_found(title, "Not so far: the recipients are still being read.")
    return not_found(title, "Neither by id, nor by address, nor by line (line:12). Search looks in all campaigns.")


@routes.get(PERSON, needs="people")
async def person(visit: Visit) -> web.Response:
    """The page."""
    found = await find_person(visit)
    return page(
        visit,
        "person.html",
        found=found,
        view=found.view,
        campaign=found.campaign,
        person_address=person_address,
        lever_titles=TITLES,
    )


@routes.get(PERSON + "/content/{channel}", needs="people")
async def content(visit: Visit) -> web.Response:
    """The HTML of a message, for a sandboxed frame: as it went out, with the addresses of its links and pictures."""
    found = await find_person(visit)
    for one in found.view.deliveries:
        html = one.content.content.html if one.content.content else None
        if one.traced.delivery.channel == visit.request.match_info["channel"] and html is not None:
            return framed(html)
    return framed(_EMPTY)
