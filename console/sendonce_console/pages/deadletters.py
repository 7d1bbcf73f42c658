"""Dead letters and uncertain deliveries of a campaign, grouped by reason."""

from __future__ import annotations

from aiohttp import web

from sendonce_console.levers.wording import TITLES
from sendonce_console.pages.campaign import find_campaign
from sendonce_console.views.deadletters import DEAD, group_views
from sendonce_console.web.problems import bad_request
from sendonce_console.web.routes import Routes
from sendonce_console.web.templating import page
from sendonce_console.web.visit import Visit
from sendonce_store import console_deadletters

routes = Routes()
SHOWN = ("failed", "uncertain")


@routes.get("/ns/{namespace}/campaigns/{campaign}/deadletters", needs="campaigns")
async def deadletters(visit: Visit) -> web.Response:
    """The page: failed and uncertain ones, or those of the state asked for."""
    campaign = await find_campaign(visit)
    state = visit.query("state")
    if state and state not in DEAD:
        raise bad_request("state", f"{state} is none there is", f"Use {', '.join(DEAD)}, or leave it out.")
    states = (state,) if state else SHOWN
    found = await console_deadletters.groups(visit.conn, (campaign.namespace, campaign.id), states)
    return page(
        visit,
        "deadletters.html",
        campaign=campaign,
        groups=found,
        views=group_views(found, people=visit.rights.people),
        state=state,
        state_tabs=[(one, one.capitalize(), f"{visit.request.path}?state={one}") for one in DEAD],
        lever_titles=TITLES,
    )
