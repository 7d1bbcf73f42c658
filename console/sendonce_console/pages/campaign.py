"""One campaign: how it stands, its funnel and pace, what failed and why, its workers, what happened, what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aiohttp import web

from sendonce_console.look import clock
from sendonce_console.views.campaigns import counts_of
from sendonce_console.views.deadletters import GroupView, group_views, order_view
from sendonce_console.views.pace import Pace, pace_of
from sendonce_console.views.samples import sample_of
from sendonce_console.views.timeline import Moment, timeline
from sendonce_console.web.headers import framed
from sendonce_console.web.problems import not_found
from sendonce_console.web.routes import Routes
from sendonce_console.web.templating import page
from sendonce_console.web.visit import Visit
from sendonce_store import console_campaigns, console_deadletters, console_story, ledger
from sendonce_store.console_campaigns import Part, Record
from sendonce_store.console_deadletters import Groups
from sendonce_store.console_story import Story
from sendonce_store.standing import Overview, Standing, standing

routes = Routes()
CAMPAIGN = "/ns/{namespace}/campaigns/{campaign}"
UNSENT = ("failed", "uncertain", "suppressed", "expired", "cancelled")
SHOWN_WORKERS = 25


async def find_campaign(visit: Visit) -> Overview:
    """The campaign of the route. Raises ProblemError where there is none, or none any more."""
    campaign_id = await ledger.find_campaign(visit.conn, visit.namespace, visit.campaign)
    found = None if campaign_id is None else await ledger.overview(visit.conn, visit.namespace, campaign_id)
    if found is None:
        raise not_found(
            f"There is no campaign {visit.campaign} in namespace {visit.namespace}",
            "It may be called otherwise, or its record was deleted. The list has all that there are.",
        )
    return found


@dataclass(frozen=True, slots=True)
class Detail:
    """Everything about one campaign. `channels`: channel → state → number."""

    campaign: Overview
    stands: Standing
    record: Record
    counts: Mapping[str, int]
    channels: Mapping[str, Mapping[str, int]]
    pace: Pace | None
    parts: Sequence[Part]
    groups: Groups
    failures: Sequence[GroupView]
    story: Story
    moments: Sequence[Moment]


async def read_detail(visit: Visit, c: Overview) -> Detail:
    """Read it: counters, and bounded parts of rows."""
    conn, people = visit.conn, visit.rights.people
    record = (await console_campaigns.records(conn, [c.id]))[c.id]
    recent = await console_campaigns.recent(conn, [] if c.ended else [c.id])
    groups = await console_deadletters.groups(conn, (c.namespace, c.id), UNSENT)
    story = await console_story.read(conn, c.id)
    orders = await console_deadletters.orders(conn, (c.namespace, c.id))
    return Detail(
        c,
        standing(c),
        record,
        counts_of(c.counts),
        {name: counts_of(counts) for name, counts in (await ledger.channel_counts(conn, c.id)).items()},
        pace_of(c, recent),
        await console_campaigns.over_time(conn, c),
        groups,
        group_views(groups, people=people),
        story,
        timeline(c, record, story, [order_view(one) for one in orders], people=people),
    )


@routes.get(CAMPAIGN, needs="campaigns")
async def campaign(visit: Visit) -> web.Response:
    """The page."""
    detail = await read_detail(visit, await find_campaign(visit))
    return page(
        visit,
        "campaign.html",
        d=detail,
        campaign=detail.campaign,
        lines=detail.campaign.total + detail.campaign.duplicates + detail.campaign.rejected,
        pace_points=[(f"from {clock(one.begins)}", one.sent + one.others) for one in detail.parts],
        pace_label="Deliveries that ended, by time",
        workers=detail.story.workers[:SHOWN_WORKERS],
    )


@routes.get(CAMPAIGN + "/content", needs="campaigns")
async def content(visit: Visit) -> web.Response:
    """What it says, as people see it, with samples in the place of what is theirs."""
    c = await find_campaign(visit)
    record = (await console_campaigns.records(visit.conn, [c.id]))[c.id]
    samples = [sample_of(message) for message in record.spec.messages]
    return page(visit, "content.html", campaign=c, samples=samples, stands=standing(c))


@routes.get(CAMPAIGN + "/content/{channel}", needs="campaigns")
async def content_frame(visit: Visit) -> web.Response:
    """The HTML of one message, for a frame that has no origin."""
    c = await find_campaign(visit)
    record = (await console_campaigns.records(visit.conn, [c.id]))[c.id]
    wanted = visit.request.match_info["channel"]
    for message in record.spec.messages:
        if message.channel.value == wanted:
            shown = sample_of(message).content
            return framed((shown and shown.html) or "")
    raise not_found(f"The campaign has no message for {wanted}", "Its page lists the channels it has.")
