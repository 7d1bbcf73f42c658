"""What a person sees of a campaign: overview, refusal and workers in, status and Events out, when it may be written."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.deployment import deployment_name
from sendonce_operator.decisions.events import transitions
from sendonce_operator.decisions.facts import FarEndError, Refusal, Situation, Workforce
from sendonce_operator.decisions.staffing import name_taken
from sendonce_operator.decisions.status import status
from sendonce_operator.objects import Campaign
from sendonce_operator.paths import Key
from sendonce_operator.providing import facts_of
from sendonce_operator.publishing import may_write, publish
from sendonce_operator.runtime import Runtime, Tracked
from sendonce_store import operating
from sendonce_store.spec import CampaignStatus
from sendonce_store.standing import Overview

# dead letters are counted by kind no more often: it reads rows
ERRORS_SECONDS = 30.0
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def show(runtime: Runtime, key: Key, tracked: Tracked, overview: Overview | None) -> None:
    """Write the campaign's status if it differs and may be written. Raises ClusterError, the store's errors."""
    campaign = runtime.watched.campaigns.get(key)
    if campaign is None or campaign.subject.uid != tracked.uid or not may_write(runtime, tracked.patched_at):
        return
    if overview is not None and _is_stale(runtime):
        return
    if overview is not None:
        await _read_errors(runtime, tracked, overview)
    if overview is None and tracked.refusal is None and not runtime.store_down and campaign.wire.get("conditions"):
        return  # it will be known in a moment how it stands; until then its last status does
    situation = situation_of(runtime, campaign, tracked, overview)
    if _is_shown(runtime, tracked, situation):
        return
    began = asyncio.get_running_loop().time()
    wanted = status(situation)
    new = CampaignStatus.from_wire(wanted)
    if await publish(runtime, campaign, wanted, transitions(situation, new)):
        tracked.patched_at = began
    else:
        tracked.shown, tracked.shown_at = _timeless(situation), began
    if overview is not None and overview.ended is not None and tracked.refusal is None:
        _settle(runtime, campaign, tracked)


def _is_stale(runtime: Runtime) -> bool:
    """Whether what was read is older than a look: when writes take long, the rest waits for what is true by then."""
    return asyncio.get_running_loop().time() - runtime.read_at > runtime.settings.tick


def situation_of(runtime: Runtime, campaign: Campaign, tracked: Tracked, overview: Overview | None) -> Situation:
    """All that the status is made from."""
    return Situation(
        subject=campaign.subject,
        now=runtime.now(),
        spec=campaign.spec,
        overview=overview,
        providers=tuple(facts_of(runtime, campaign)),
        refusal=_refusal(runtime, tracked, overview),
        workforce=_workforce(runtime, campaign, tracked),
        errors=tracked.errors,
        progress=tracked.progress,
        adoption=tracked.adoption,
        mode=runtime.settings.defaults.mode,
    )


def _workforce(runtime: Runtime, campaign: Campaign, tracked: Tracked) -> Workforce:
    if tracked.name_taken is None:
        return runtime.watched.workforce(campaign.key)
    return Workforce(desired=1, trouble=name_taken(deployment_name(campaign.key.name), tracked.name_taken))


def _is_shown(runtime: Runtime, tracked: Tracked, situation: Situation) -> bool:
    """Whether the object said all this a moment ago.

    What time alone changes, such as the end of a patience, can wait so long.
    """
    age = asyncio.get_running_loop().time() - tracked.shown_at
    return age < runtime.settings.status_interval and tracked.shown == _timeless(situation)


def _timeless(situation: Situation) -> Situation:
    """The situation without the clocks' times."""
    overview = None if situation.overview is None else replace(situation.overview, now=EPOCH)
    return replace(situation, now=EPOCH, overview=overview, progress=None)


def _refusal(runtime: Runtime, tracked: Tracked, overview: Overview | None) -> Refusal | None:
    if tracked.refusal is not None or overview is not None:
        return tracked.refusal
    return refusal.store_unavailable(runtime.store_down) if runtime.store_down else refusal.starting()


def _settle(runtime: Runtime, campaign: Campaign, tracked: Tracked) -> None:
    """The end stands in the object, and no worker is left: there is nothing more to look at until something happens."""
    live = runtime.watched.deployments.get(campaign.key)
    shown = runtime.watched.campaigns.get(campaign.key)
    ended = shown is not None and shown.subject.status is not None and shown.subject.status.completion_time is not None
    if ended and (live is None or (live["spec"]["replicas"] == 0 and not live["status"].get("replicas"))):
        tracked.settled = True


async def _read_errors(runtime: Runtime, tracked: Tracked, overview: Overview) -> None:
    now, counts = asyncio.get_running_loop().time(), (overview.counts.failed, overview.counts.uncertain)
    ended = overview.ended is not None
    if counts == tracked.errors_of or (now - tracked.errors_at < ERRORS_SECONDS and not ended):
        return
    async with runtime.ledger.use() as conn:
        found = await operating.top_errors(conn, overview.id)
    tracked.errors = tuple(FarEndError(one.code, one.reason, one.count, one.message) for one in found)
    tracked.errors_of, tracked.errors_at = counts, now
