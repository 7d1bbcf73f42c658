"""Dead letters and levers for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from sendonce_console.levers.asking import FIELDS, find_lever, fresh_name, read_name, read_selection
from sendonce_console.levers.wording import promise
from sendonce_console.pages.campaign import find_campaign
from sendonce_console.pages.levers import pull, reach_of, require_people, require_right
from sendonce_console.views.deadletters import OrderView, group_views, order_view
from sendonce_console.views.filtering import read_words
from sendonce_console.web.problems import bad_request
from sendonce_console.web.records import reply, sent_object
from sendonce_console.web.routes import Routes
from sendonce_console.web.visit import Visit
from sendonce_store import console_deadletters

routes = Routes()
CAMPAIGN = "/api/v1/namespaces/{namespace}/campaigns/{campaign}"
STATES = ("failed", "uncertain", "suppressed", "expired", "cancelled")


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """Deliveries that ended alike. `message`: one of the far end's answers, masked without the right to people.

    `selection`: as `deliveries` of a NotificationAction takes them; `example`: one recipient.
    """

    state: str
    channel: str
    reason: str | None
    code: str | None
    count: int
    words: str
    message: str | None
    example: str
    selection: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Groups, the most frequent first; `counted` of `total` were read: the rest is like them, or not."""

    items: Sequence[DeadLetterGroup]
    counted: int
    total: int


@dataclass(frozen=True, slots=True)
class LeverOrder:
    """What is ordered.

    `lever`: retry, sent, resend, give-up, suppress, unsuppress, promote, resume, suspend, go-on or cancel.
    `name`: the same name again changes nothing; null: a new one. `dryRun`: say what it would do, and do nothing.
    `deliveries`: states, reasons, codes, channels, recipients (ids or line:12), as a NotificationAction has them.
    """

    lever: str
    name: str | None = None
    dry_run: bool = False
    deliveries: Mapping[str, Sequence[str]] | None = None


@dataclass(frozen=True, slots=True)
class Ordered:
    """What came of it so far. `will`: what it does, in sentences; `undo`: whether and where it can be taken back."""

    name: str
    message: str
    will: Sequence[str]
    undo: str
    deliveries: int | None
    at_least: bool


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """An order that was given: by whom, when, of what, and what came of it."""

    name: str
    type: str
    title: str
    requested_by: str | None
    begun: datetime
    ended: datetime | None
    about: str
    matched: int
    changed: int
    result: str


@dataclass(frozen=True, slots=True)
class OrderList:
    """Orders, the newest first, at most 50."""

    items: Sequence[OrderRecord]


@routes.get(
    CAMPAIGN + "/deadletters",
    needs="campaigns",
    returns=DeadLetters,
    query={"state": "failed, uncertain, suppressed, expired or cancelled; left out: the first two."},
)
async def deadletters(visit: Visit) -> web.Response:
    """What will not be tried again without a person, by reason and the far end's code."""
    campaign = await find_campaign(visit)
    states = read_words(visit.request.query, "state") or ["failed", "uncertain"]
    for state in states:
        if state not in STATES:
            raise bad_request("state", f"{state} is none there is", f"Use {', '.join(STATES)}.")
    found = await console_deadletters.groups(visit.conn, (campaign.namespace, campaign.id), states)
    items = [
        DeadLetterGroup(
            state=one.group.state,
            channel=one.group.channel,
            reason=one.group.reason,
            code=one.group.code,
            count=one.group.count,
            words=one.words,
            message=one.message or None,
            example=f"line:{one.group.example}",
            selection=one.selection,
        )
        for one in group_views(found, people=visit.rights.people)
    ]
    return reply(DeadLetters(items, found.counted, found.total))


@routes.post(CAMPAIGN + "/actions", needs="campaigns", returns=Ordered, takes=LeverOrder)
async def give(visit: Visit) -> web.Response:
    """Pull a lever: takes create notificationactions, or patch notificationcampaigns to suspend, go on and cancel."""
    campaign, sent = await find_campaign(visit), await sent_object(visit.request)
    lever = find_lever(str(sent.get("lever")))
    await require_right(visit, lever)
    chosen = read_selection(_lists(sent.get("deliveries")))
    require_people(visit, chosen)
    name = read_name(str(sent["name"])) if sent.get("name") else fresh_name(lever)
    reach = await reach_of(visit, campaign, lever, chosen)
    will = promise(lever, campaign, reach)
    rows, at_least = (None, False) if reach is None else (reach.rows, reach.at_least)
    if sent.get("dryRun"):
        return reply(Ordered(name, "", will, lever.undo, rows, at_least))
    given = await pull(visit, campaign, lever, name, chosen)
    return reply(Ordered(given.name, given.message, will, lever.undo, rows, at_least))


def _lists(given: object) -> Mapping[str, Sequence[str]]:
    if given is None:
        return {}
    fix = f"Give an object of lists of texts: {', '.join(FIELDS)}."
    if not isinstance(given, dict) or not set(given) <= set(FIELDS):
        raise bad_request("deliveries", "is no selection", fix)
    for name, words in given.items():
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise bad_request(f"deliveries.{name}", "is no list of texts", fix)
    return given


@routes.get(CAMPAIGN + "/actions", needs="campaigns", returns=OrderList)
async def orders(visit: Visit) -> web.Response:
    """What people ordered: who, when, of what, and what came of it."""
    campaign = await find_campaign(visit)
    found = await console_deadletters.orders(visit.conn, (campaign.namespace, campaign.id))
    return reply(OrderList([_record(order_view(one)) for one in found]))


def _record(view: OrderView) -> OrderRecord:
    order = view.order
    return OrderRecord(
        name=order.name,
        type=order.type,
        title=view.title,
        requested_by=order.requested_by,
        begun=order.started_at,
        ended=order.finished_at,
        about=view.about,
        matched=order.matched,
        changed=order.changed,
        result=view.result,
    )
