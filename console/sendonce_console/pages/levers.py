"""Levers: what one will do is said first; then it is pulled, recorded and shown.

GET  …/levers/{lever}?states=…&recipients=line:12   what it will do, and a form
POST …/levers/{lever}                                does it, and leads to the order
GET  …/orders/{order}                                what came of it; …/orders: all, with who and when
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from sendonce_console.levers.asking import FIELDS, find_lever, fresh_name, read_name, read_selection, spec_of
from sendonce_console.levers.interface import Given
from sendonce_console.levers.wording import LEVERS, TITLES, Lever, promise
from sendonce_console.pages.campaign import find_campaign
from sendonce_console.pages.people import PERSON
from sendonce_console.views.deadletters import order_view
from sendonce_console.web.handling import NEEDED
from sendonce_console.web.problems import ProblemError, bad_request, forbidden, not_found
from sendonce_console.web.routes import Routes
from sendonce_console.web.templating import address, page, redirect
from sendonce_console.web.visit import Visit
from sendonce_store import console_deadletters
from sendonce_store.actions import Selection
from sendonce_store.console_deadletters import Reach
from sendonce_store.ordering import order_of
from sendonce_store.standing import Overview

routes = Routes()
CAMPAIGN = "/ns/{namespace}/campaigns/{campaign}"
LEVER = CAMPAIGN + "/levers/{lever}"
ORDERS = CAMPAIGN + "/orders"
_LONGEST_SELECTION = 64 * 1024


async def require_right(visit: Visit, lever: Lever) -> None:
    """Raise ProblemError unless the viewer may pull it."""
    if not await visit.viewer.may(visit.namespace, lever.needs):
        raise forbidden(f"It takes the right to {NEEDED[lever.needs]} in namespace {visit.namespace}.")


def require_people(visit: Visit, chosen: Mapping[str, Any]) -> None:
    """Raise ProblemError where somebody is named by a viewer who may not see people: counts would tell who is there."""
    if chosen.get("recipients") and not visit.rights.people:
        raise forbidden(f"One person's deliveries take the right to {NEEDED['people']} in namespace {visit.namespace}.")


async def reach_of(visit: Visit, campaign: Overview, lever: Lever, deliveries: Mapping[str, Any]) -> Reach | None:
    """What the lever would take now; None: it is about the whole campaign. Raises ProblemError for a bad selection."""
    if not lever.takes_rows:
        return None
    spec = spec_of(lever, campaign.name, deliveries)
    selection: Selection = order_of("", spec).selection
    return await console_deadletters.reach(visit.conn, (campaign.namespace, campaign.id), selection)


async def pull(visit: Visit, campaign: Overview, lever: Lever, name: str, deliveries: Mapping[str, Any]) -> Given:
    """Give the order. Raises ProblemError."""
    levers, who = visit.console.levers, visit.viewer.name
    if campaign.data_deleted_at is not None:
        detail = "The recipients' data is deleted; there is nothing left that could be changed."
        raise ProblemError(409, "This can't be done any more", detail)
    if lever.wish is not None:
        given = await levers.wish(who, campaign, lever.wish)
    else:
        given = await levers.order(who, campaign, name, spec_of(lever, campaign.name, deliveries))
    visit.console.metrics.ordered(lever.key)
    return given


@routes.get(LEVER, needs="campaigns")
async def ask(visit: Visit) -> web.Response:
    """What it will do, and a form that does it."""
    campaign, lever = await find_campaign(visit), find_lever(visit.request.match_info["lever"])
    await require_right(visit, lever)
    chosen = read_selection({name: visit.request.query.getall(name, []) for name in FIELDS})
    reach = await reach_of(visit, campaign, lever, chosen)
    require_people(visit, chosen)
    return page(
        visit,
        "lever.html",
        campaign=campaign,
        lever=lever,
        reach=reach,
        promises=promise(lever, campaign, reach),
        chosen=chosen,
        action=visit.request.path,
        fields=[("name", fresh_name(lever)), ("deliveries", orjson.dumps(chosen).decode())],
        back=_back(visit, lever, chosen),
    )


def _back(visit: Visit, lever: Lever, chosen: Mapping[str, Any]) -> str:
    recipients = chosen.get("recipients") or [""]
    if len(recipients) == 1 and recipients[0]:
        return address(PERSON, recipient=recipients[0], namespace=visit.namespace, campaign=visit.campaign)
    rest = "/deadletters" if lever.takes_rows else ""
    return address(CAMPAIGN + rest, namespace=visit.namespace, campaign=visit.campaign)


@routes.post(LEVER, needs="campaigns")
async def do(visit: Visit) -> web.Response:
    """Do it, and lead to what came of it."""
    campaign, lever = await find_campaign(visit), find_lever(visit.request.match_info["lever"])
    await require_right(visit, lever)
    name = read_name(visit.form.get("name", ""))
    chosen = read_deliveries(visit.form.get("deliveries", ""))
    require_people(visit, chosen)
    given = await pull(visit, campaign, lever, name, chosen)
    if lever.wish is not None:
        done = {"done": lever.key}
        return redirect(address(ORDERS, done, namespace=visit.namespace, campaign=visit.campaign))
    where = ORDERS + "/{order}"
    return redirect(address(where, namespace=visit.namespace, campaign=visit.campaign, order=given.name))


def read_deliveries(text: str) -> Mapping[str, Any]:
    """The selection as the form carries it. Raises ProblemError."""
    try:
        found = orjson.loads(text or "{}") if len(text) <= _LONGEST_SELECTION else None
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise bad_request("deliveries", "can't be read", "Go back and choose again.")
    return found


@routes.get(ORDERS, needs="campaigns")
async def orders(visit: Visit) -> web.Response:
    """All orders, the newest first: who, when, what, and what came of them."""
    campaign = await find_campaign(visit)
    found = await console_deadletters.orders(visit.conn, (campaign.namespace, campaign.id))
    done = LEVERS.get(visit.query("done"))
    said = [("good", f"{done.title}: ordered.")] if done is not None else []
    return page(
        visit,
        "orders.html",
        campaign=campaign,
        orders=[order_view(one) for one in found],
        wishes=await visit.console.levers.wishes(campaign),
        flashes=said,
        order=None,
        given=None,
    )


@routes.get(ORDERS + "/{order}", needs="campaigns")
async def order(visit: Visit) -> web.Response:
    """One order, also while it waits to be carried out."""
    campaign, name = await find_campaign(visit), read_name(visit.request.match_info["order"])
    found = await console_deadletters.orders(visit.conn, (campaign.namespace, campaign.id), name=name)
    given = None if found else await visit.console.levers.state_of(campaign, name)
    if not found and given is None:
        raise not_found(f"There is no order {name}", "The campaign's orders are listed on its page.")
    view = order_view(found[0]) if found else None
    return page(visit, "order.html", campaign=campaign, order=view, given=given, name=name, lever_titles=TITLES)
