"""Search over all campaigns, and the recipients of one: filters, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from sendonce_console.pages.campaign import find_campaign
from sendonce_console.views.filtering import CHANNELS, STATES, read_filter, read_place
from sendonce_console.views.searching import LONGEST, Hit, of_address, of_ref, one_person, refusal, understand
from sendonce_console.web.routes import Routes
from sendonce_console.web.templating import address, page, redirect
from sendonce_console.web.visit import Visit
from sendonce_store import console_people, ledger
from sendonce_store.console_people import PrefixHit
from sendonce_store.named_people import BIGGEST_LINE

routes = Routes()
PERSON = "/ns/{namespace}/campaigns/{campaign}/recipients/{recipient}"
RECIPIENTS = "/ns/{namespace}/campaigns/{campaign}/recipients"
PAGE = 100
SHORTEST_MESSAGE_ID = 6
# of what is looked for, so much as is refused as too long
CARRIED = 2 * LONGEST


def person_address(namespace: str, campaign: str, line: int, query: dict[str, object] | None = None) -> str:
    """The page of a recipient, named by line: nothing personal is in an address of ours."""
    return address(PERSON, query, namespace=namespace, campaign=campaign, recipient=f"line:{line}")


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: recipients, else addresses that begin so; `before`: where to look on for a message id."""

    hits: Sequence[Hit] = ()
    begins: Sequence[PrefixHit] = ()
    before: int | None = None


async def look_for(visit: Visit, text: str) -> Found:
    """Who may be meant: recipients by id or whole address, else addresses that begin so, else by message id."""
    conn, names, search = visit.conn, visit.namespaces, understand(text)
    if not names:
        return Found()
    hits = [of_ref(hit) for hit in await console_people.by_ref(conn, names, text)]
    seen = {(hit.namespace, hit.send_key, hit.line) for hit in hits}
    by_address = await console_people.by_address(conn, names, search.addresses) if search.addresses else []
    by_address = by_address or await console_people.by_delivery_id(conn, names, text)
    hits += [of_address(hit) for hit in by_address if (hit.namespace, hit.send_key, hit.line) not in seen]
    if hits or not search.prefixes:
        return Found(hits)
    begins = await console_people.by_prefix(conn, names, search.prefixes)
    return Found(begins=begins) if begins else await by_message(visit, text)


async def by_message(visit: Visit, text: str, before: int = BIGGEST_LINE) -> Found:
    """By the far end's message id, the newest batches first; a Message-ID also without the brackets around it."""
    if len(text) < SHORTEST_MESSAGE_ID:
        return Found()
    wanted = f"<{text}>" if "@" in text and not text.startswith("<") else text
    found, go_on = await console_people.by_message_id(visit.conn, visit.namespaces, wanted, before)
    return Found([of_address(hit) for hit in found], before=None if found else go_on)


def search_address(visit: Visit, text: str, before: int | None = None) -> str:
    """The page of a search, which is sealed: nothing personal is in an address of ours."""
    query: dict[str, object] = {"find": visit.console.searches.seal(text)}
    return address("/search", query if before is None else {**query, "before": before})


@routes.post("/search", needs="people", reads=False)
async def ask(visit: Visit) -> web.Response:
    """To the page of the search."""
    text = visit.form.get("q", "").strip()
    return redirect(search_address(visit, text[:CARRIED]) if text else "/search")


@routes.get("/search", needs="people")
async def search(visit: Visit) -> web.Response:
    """Straight to the person if it can be only one; else a list. `q` is for links from elsewhere."""
    text = visit.query("q") or visit.console.searches.open(visit.query("find"))
    refused = refusal(text)
    if refused is not None:
        return page(visit, "search.html", 400 if text else 200, query=text[:80], refused=refused, found=Found())
    before = visit.query("before")
    found = await (by_message(visit, text, read_place(f"{before}-0")[0]) if before else look_for(visit, text))
    one = one_person(found.hits)
    if one is not None:
        return redirect(person_address(one.namespace, one.send_key, one.line))
    more = bool(visit.namespaces) and await console_people.has_more_campaigns(visit.conn, visit.namespaces)
    return page(
        visit,
        "search.html",
        query=text,
        refused=None,
        found=found,
        asked=console_people.CAMPAIGNS if more else None,
        person_address=person_address,
        search_address=partial(search_address, visit),
    )


@routes.get(RECIPIENTS, needs="people")
async def recipients(visit: Visit) -> web.Response:
    """Deliveries of a campaign, from a place on."""
    campaign = await find_campaign(visit)
    if visit.query("state") == "unreachable":
        return await _unreachable(visit)
    wanted = read_filter(visit.request.query)
    after = read_place(visit.query("after"))
    found = await console_people.recipients(
        visit.conn, (campaign.namespace, campaign.id), wanted, after=after, limit=PAGE
    )
    chosen = {name: visit.query(name) for name in ("state", "channel", "reason", "code")}
    return page(
        visit,
        "recipients.html",
        campaign=campaign,
        found=found,
        chosen=chosen,
        state_options=[("", "Any"), *((state, state) for state in STATES), ("unreachable", "without an address")],
        channel_options=[("", "Any"), *((channel, channel) for channel in CHANNELS)],
        person_address=person_address,
        next=_next(visit, chosen, found.next),
        first=_first(visit, chosen),
    )


def _next(visit: Visit, chosen: dict[str, str], place: tuple[int, int] | None) -> str | None:
    if place is None:
        return None
    query: dict[str, object] = {**chosen, "after": f"{place[0]}-{place[1]}"}
    return address(RECIPIENTS, query, namespace=visit.namespace, campaign=visit.campaign)


def _first(visit: Visit, chosen: dict[str, str]) -> str | None:
    if not visit.query("after"):
        return None
    return address(RECIPIENTS, dict(chosen), namespace=visit.namespace, campaign=visit.campaign)


async def _unreachable(visit: Visit) -> web.Response:
    campaign = await find_campaign(visit)
    after = read_place(visit.query("after"))
    found: Sequence[tuple[int, str | None]] = await ledger.unreachable(visit.conn, campaign.id, after[0], PAGE)
    chosen = {"state": "unreachable"}
    last = (found[-1][0], 0) if len(found) == PAGE else None
    return page(
        visit,
        "unreachable.html",
        campaign=campaign,
        found=found,
        person_address=person_address,
        next=_next(visit, chosen, last),
        first=_first(visit, chosen),
    )
