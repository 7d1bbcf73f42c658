"""Rule 6: once an attempt may have been accepted, its row ends as `sent` or `uncertain`, whatever else happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sendonce_store import actions
from sendonce_store.consent import OptOut, Suppression, opt_out, suppress
from sendonce_store.rows import Result, Unsent
from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import PermanentSendError, TemporarySendError, UnknownOutcomeError

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, FarEnd, World

Event = Callable[["Campaign"], Awaitable[object]]
POISON = 5


async def _unknown(campaign: Campaign) -> None:
    """Rows 1 and 2 wait for another attempt; what became of the first attempt of row 1 is not known."""
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    await campaign.end(batch, 1, "pending", unknown=True, used=1, outcome="unknown")
    await campaign.end(batch, 2, "pending", used=1, outcome="temporary")
    await campaign.release(batch)


async def _cancel(campaign: Campaign) -> object:
    return await actions.cancel(campaign.world.conn, campaign.id)


async def _pass_deadline(campaign: Campaign) -> None:
    await campaign.query("UPDATE sendonce.campaigns SET deadline = now() - interval '1 s' WHERE id = %(id)s")


async def _deadline(campaign: Campaign) -> object:
    await _pass_deadline(campaign)
    return await campaign.conduct()


async def _deadline_at_hand_off(campaign: Campaign) -> object:
    batch = await campaign.claim()
    await _pass_deadline(campaign)
    return await campaign.begin(batch, (1, 2))


async def _opted_out(campaign: Campaign) -> object:
    wishes = [OptOut("Email", f"user{no}@example.com", "Marketing") for no in (1, 2)]
    await opt_out(campaign.world.conn, "default", wishes)
    return await campaign.begin(await campaign.claim(), (1, 2))


async def _suppressed(campaign: Campaign) -> object:
    rows = [Suppression("Email", f"user{no}@example.com", "bounced") for no in (1, 2)]
    await suppress(campaign.world.conn, "default", rows)
    return await campaign.begin(await campaign.claim(), (1, 2))


async def _unrenderable(campaign: Campaign) -> object:
    unsent = [Unsent(no, "failed", "render_error") for no in (1, 2)]
    return await campaign.turn(await campaign.claim(), unsent=unsent)


async def _no_zone(campaign: Campaign) -> object:
    unsent = [Unsent(no, "suppressed", "unknown_timezone") for no in (1, 2)]
    return await campaign.turn(await campaign.claim(), unsent=unsent)


async def _import_fails(campaign: Campaign) -> object:
    await campaign.query(
        "UPDATE sendonce.campaigns SET import_state = 'failed', import_message = 'gone' WHERE id = %(id)s"
    )
    return await campaign.conduct()


async def _poison(campaign: Campaign) -> None:
    for _ in range(POISON):
        await campaign.claim()
        await campaign.lapse()
    assert await campaign.try_claim() is None


EVENTS: dict[str, tuple[Event, str]] = {
    "cancel": (_cancel, "cancelled"),
    "the deadline passes": (_deadline, "expired"),
    "the deadline passes at the hand-off": (_deadline_at_hand_off, "expired"),
    "opt-out": (_opted_out, "suppressed"),
    "suppression": (_suppressed, "suppressed"),
    "render error": (_unrenderable, "failed"),
    "no time zone": (_no_zone, "suppressed"),
    "the import fails": (_import_fails, "cancelled"),
    "poison": (_poison, "failed"),
}


@pytest.mark.parametrize(("event", "otherwise"), EVENTS.values(), ids=EVENTS.keys())
async def test_a_row_that_may_have_been_accepted_does_not_become_never_sent(
    world: World, event: Event, otherwise: str
) -> None:
    campaign = await world.campaign(2)
    await _unknown(campaign)
    await event(campaign)
    assert [row["state"] for row in await campaign.rows()] == ["uncertain", otherwise]


@pytest.mark.parametrize("last", [PermanentSendError("550", "no such user"), TemporarySendError("421", "busy")])
async def test_attempts_used_up_after_an_unknown_outcome_end_as_uncertain(
    world: World, far_end: FarEnd, last: Exception
) -> None:
    campaign = await world.campaign(1)
    campaign.repeats = replace(campaign.repeats, max_attempts=2)

    async def unknown_then(message: Message) -> Accepted:
        raise UnknownOutcomeError("timeout", "no answer") if len(far_end.received) == 1 else last

    far_end.answer = unknown_then
    for _ in range(2):
        await (await campaign.session(await campaign.claim(), far_end)).run()
    row = await campaign.row()
    assert (row["state"], row["maybe_accepted"], len(far_end.received)) == ("uncertain", True, 2)


async def test_a_recovered_attempt_counts_as_one_that_may_have_been_accepted(world: World) -> None:
    campaign = await world.campaign(1)
    await campaign.begin(await campaign.claim())
    await campaign.lapse()
    await campaign.claim()
    assert (await campaign.row())["maybe_accepted"]
    await actions.cancel(world.conn, campaign.id)
    assert (await campaign.row())["state"] == "uncertain"


async def test_a_later_refusal_does_not_take_back_that_it_may_have_been_accepted(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "pending", seq=1, unknown=True, used=1)
    await campaign.begin(batch)
    await campaign.turn(batch, results=[Result(1, 2, "pending", delay=0.0, used=1)])
    assert (await campaign.row())["maybe_accepted"]
