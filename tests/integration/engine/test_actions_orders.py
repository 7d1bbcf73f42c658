"""Orders of people: which rows they take, that a name counts once, and that one that dies goes on where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from sendonce_store import actions, consent
from sendonce_store.actions import ActionError, Applied, Order, Selection, Target

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World


async def _dead_letters(world: World, people: int = 6, chunk: int = 2) -> Campaign:
    """Batches of two. Odd lines failed for good with code 550, even ones ran out of attempts with code 421."""
    campaign = await world.campaign(None)
    await campaign.imports([world.person(line) for line in range(1, people + 1)], chunk=chunk)
    for _ in range(people // chunk):
        batch = await campaign.claim()
        await campaign.begin(batch, (1, 2))
        await campaign.end(batch, 1, "failed", reason="permanent", code="550")
        await campaign.end(batch, 2, "failed", reason="retries_exhausted", code="421")
        await campaign.release(batch)
    return campaign


async def _apply(campaign: Campaign, order: Order) -> Applied:
    return await actions.apply(campaign.world.conn, Target(campaign.id, "default"), order)


@pytest.mark.parametrize(
    ("selection", "lines"),
    [
        (Selection(), {1, 2, 3, 4, 5, 6}),
        (Selection(states=("expired",)), set()),
        (Selection(reasons=["retries_exhausted"]), {2, 4, 6}),
        (Selection(codes=["550"]), {1, 3, 5}),
        (Selection(codes=["550", "421"], reasons=["permanent"]), {1, 3, 5}),
        (Selection(channels=["SMS"]), set()),
        (Selection(channels=["Email"], limit=3), {1, 2, 3}),
        (Selection(reasons=["permanent"], limit=2), {1, 3}),
        (Selection(limit=100), {1, 2, 3, 4, 5, 6}),
    ],
)
async def test_a_retry_takes_what_was_selected(world: World, selection: Selection, lines: set[int]) -> None:
    campaign = await _dead_letters(world)
    applied = await _apply(campaign, Order("again", "Retry", selection))
    assert (applied.changed, applied.again) == (len(lines), False)
    assert {row["recipient_no"] for row in await campaign.rows() if row["state"] == "pending"} == lines
    fresh = {(row["tries"], row["reason"], row["code"]) for row in await campaign.rows() if row["state"] == "pending"}
    assert fresh <= {(0, None, None)}


async def test_the_same_name_again_changes_nothing_and_gives_the_first_answer(world: World) -> None:
    campaign = await _dead_letters(world)
    first = await _apply(campaign, Order("again", "Retry", Selection(limit=2)))
    second = await _apply(campaign, Order("again", "Retry", Selection(limit=2)))
    assert (second.matched, second.changed, second.message) == (first.matched, first.changed, first.message)
    assert second.again
    assert (await campaign.states())["pending"] == 2


async def test_an_order_that_dies_half_way_goes_on_where_it_was_and_counts_nothing_twice(world: World) -> None:
    campaign = await _dead_letters(world)
    second = (await campaign.batches())[1]["id"]
    dying, holder = await world.connect(), await world.connect()
    await dying.execute("SET lock_timeout = '50ms'")
    async with holder.transaction():  # somebody holds the second batch until the order gives up
        await holder.execute("SELECT FROM sendonce.batches WHERE id = %s FOR UPDATE", [second])
        with pytest.raises(psycopg.errors.LockNotAvailable):
            await actions.apply(dying, Target(campaign.id, "default"), Order("again", "Retry"))
    assert (await campaign.states())["pending"] == 2
    # what the first half did has been sent and failed again before the order goes on: it is not taken a second time
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    await campaign.end(batch, 1, "failed", seq=2, reason="permanent")
    applied = await _apply(campaign, Order("again", "Retry"))
    assert (applied.matched, applied.changed) == (6, 6)
    assert (await campaign.row())["state"] == "failed"
    assert (await campaign.states())["pending"] == 4


async def test_a_retry_reopens_a_campaign_that_had_ended(world: World) -> None:
    campaign = await _dead_letters(world)
    await campaign.conduct()
    assert (await campaign.record())["ended"] == "complete"
    await _apply(campaign, Order("again", "Retry"))
    record = await campaign.record()
    assert (record["ended"], record["completed_at"], record["ended_reason"]) == (None, None, None)
    assert await campaign.try_claim() is not None


async def test_a_retry_of_cancelled_rows_takes_the_cancel_back(world: World) -> None:
    campaign = await world.campaign(2)
    await actions.cancel(world.conn, campaign.id)
    await campaign.conduct()
    assert (await campaign.record())["ended_reason"] == "Cancelled"
    applied = await _apply(campaign, Order("after all", "Retry", Selection(states=("cancelled",))))
    assert applied.changed == 2
    assert (await campaign.record())["cancelled_at"] is None
    assert [row.state for row in await campaign.begin(await campaign.claim(), (1, 2))] == ["sending", "sending"]
    assert await campaign.conduct() == []


async def test_a_cancel_ends_what_was_not_handed_off_and_leaves_what_is_under_way(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    await campaign.begin(batch)
    assert await actions.cancel(world.conn, campaign.id) == 2
    assert await campaign.states() == {"sending": 1, "cancelled": 2}
    await campaign.end(batch, 1, "sent")
    await campaign.release(batch)
    await campaign.conduct()
    record = await campaign.record()
    assert (record["ended"], record["ended_reason"]) == ("failed", "Cancelled")


async def test_resume_lifts_the_stop_and_lets_the_breaker_count_anew(world: World) -> None:
    campaign = await _dead_letters(world)
    await campaign.query("UPDATE sendonce.campaigns SET halt_reason = 'FailureThreshold', halt_message = 'too many'")
    assert (await _apply(campaign, Order("go", "Resume"))).message == "resumed"
    record = await campaign.record()
    assert (record["halt_reason"], record["base_failed"], record["base_final"]) == (None, 6, 6)
    assert (await _apply(campaign, Order("go on", "Resume"))).message.startswith("nothing to resume")


@pytest.mark.parametrize("stage", ["canary", "observing", "awaiting"])
async def test_promote_lets_the_rest_follow_whatever_the_canary_is_doing(world: World, stage: str) -> None:
    campaign = await world.campaign(2)
    await campaign.query("UPDATE sendonce.batches SET claimable_at = 'infinity' WHERE kind = 'send'")
    await campaign.query("UPDATE sendonce.campaigns SET rollout_stage = %(stage)s, rollout_since = now()", stage=stage)
    assert (await _apply(campaign, Order("go", "Promote"))).message == "promoted"
    assert (await campaign.record())["rollout_stage"] == "promoted"
    assert await campaign.try_claim() is not None


@pytest.mark.parametrize("stage", ["none", "importing", "promoted"])
async def test_promote_says_when_there_is_nothing_to_promote(world: World, stage: str) -> None:
    campaign = await world.campaign(2)
    await campaign.query("UPDATE sendonce.campaigns SET rollout_stage = %(stage)s", stage=stage)
    assert (
        await _apply(campaign, Order("go", "Promote"))
    ).message == f"nothing to promote: the rollout's stage is {stage}"


async def test_an_order_of_an_unknown_type_is_refused_with_the_ones_there_are(world: World) -> None:
    campaign = await world.campaign(1)
    with pytest.raises(ActionError, match="use Retry, Resolve, Suppress, Unsuppress, Promote or Resume"):
        await _apply(campaign, Order("x", "Undo"))


async def test_suspend_is_a_wished_state(world: World) -> None:
    campaign = await world.campaign(1)
    assert await actions.suspend(world.conn, campaign.id, suspended=True)
    assert await campaign.try_claim() is None
    assert await actions.suspend(world.conn, campaign.id, suspended=False)
    assert await campaign.try_claim() is not None
    assert not await actions.suspend(world.conn, 10**9, suspended=True)


@pytest.mark.parametrize(
    ("names", "lines", "missing"),
    [
        (["ada"], {1}, 0),
        (["line:3"], {3}, 0),
        (["ada", "bea", "line:3"], {1, 2, 3}, 0),
        (["ada", "nobody", "line:99"], {1}, 2),
        (["user1@example.com"], set(), 1),  # an address is no name
        (["line:99999999999999999999999999", "line:9223372036854775808"], set(), 2),
        ([], set(), 0),
    ],
)
async def test_an_order_for_some_people_touches_nobody_else(
    world: World, names: list[str], lines: set[int], missing: int
) -> None:
    campaign = await _named_dead_letters(world)
    applied = await _apply(campaign, Order("again", "Retry", Selection(recipients=names)))
    assert {row["recipient_no"] for row in await campaign.rows() if row["state"] == "pending"} == lines
    assert (applied.matched, applied.changed) == (len(lines), len(lines))
    assert applied.message.startswith(f"{len(lines)} of {len(lines)} deliveries changed")
    if missing:
        assert applied.message.endswith(f"; {missing} of {len(names)} recipients named are not in the campaign")


async def test_a_name_that_the_store_can_not_keep_is_refused(world: World) -> None:
    campaign = await _named_dead_letters(world)
    with pytest.raises(ActionError, match="NUL"):
        await _apply(campaign, Order("again", "Retry", Selection(recipients=["a\x00b"])))


async def test_an_order_for_a_person_keeps_to_the_other_wishes(world: World) -> None:
    campaign = await _named_dead_letters(world)
    chosen = Selection(codes=["421"], recipients=["ada", "bea"])
    assert (await _apply(campaign, Order("again", "Retry", chosen))).changed == 1
    assert [row["recipient_no"] for row in await campaign.rows() if row["state"] == "pending"] == [2]


async def test_a_person_of_a_later_line_with_the_same_address_is_reached_by_that_lines_delivery(world: World) -> None:
    campaign = await world.campaign(None, channels=("Email", "SMS"))
    twice = [
        world.person(1, ref="ada"),
        world.person(2, {"Email": "user1@example.com", "SMS": "+15005550006"}, ref="b"),
    ]
    await campaign.imports(twice)
    batch = await campaign.claim()
    while batch.channel != "Email":
        batch = await campaign.claim()
    await campaign.begin(batch, (1,))
    await campaign.end(batch, 1, "failed", reason="permanent", code="550")
    await campaign.release(batch)
    assert (await _apply(campaign, Order("again", "Retry", Selection(recipients=["b"])))).changed == 1


async def test_people_who_are_suppressed_are_kept_out_and_let_in_again(world: World) -> None:
    campaign = await _named_dead_letters(world)
    only_ada = Selection(None, recipients=["ada", "line:2"])
    first = await _apply(campaign, Order("out", "Suppress", only_ada, requested_by="mia"))
    assert (first.changed, first.message) == (2, "2 addresses suppressed, 0 were already")
    rows = await campaign.query("SELECT address, reason, source FROM sendonce.suppressions ORDER BY address")
    assert [(row["address"], row["reason"], row["source"]) for row in rows] == [
        ("user1@example.com", "blocked", "order out by mia"),
        ("user2@example.com", "blocked", "order out by mia"),
    ]
    assert (await campaign.states()) == {"failed": 4}  # what has ended stays as it is
    await _apply(campaign, Order("again", "Retry", Selection(recipients=["ada"])))
    batch = await campaign.claim()
    await campaign.begin(batch, (1,))
    assert (await campaign.row(1))["state"] == "suppressed"
    back = await _apply(campaign, Order("in", "Unsuppress", only_ada))
    assert (back.changed, back.message) == (2, "2 suppressions taken back")
    assert not await campaign.query("SELECT FROM sendonce.suppressions")


async def test_a_group_is_suppressed_by_its_code_and_a_bounce_stays_a_bounce(world: World) -> None:
    campaign = await _named_dead_letters(world)
    bounced = [consent.Suppression("Email", "user1@example.com", "bounced")]
    await consent.suppress(world.conn, "default", bounced, "a list")
    order = Order("out", "Suppress", Selection(["failed"], codes=["550"]))
    assert (await _apply(campaign, order)).message == "1 addresses suppressed, 1 were already"
    await _apply(campaign, Order("in", "Unsuppress", Selection(["failed"])))
    rows = await campaign.query("SELECT address, reason, source FROM sendonce.suppressions")
    assert [(row["address"], row["reason"], row["source"]) for row in rows] == [
        ("user1@example.com", "bounced", "a list")
    ]


async def test_who_gave_an_order_is_kept_with_it(world: World) -> None:
    campaign = await _named_dead_letters(world)
    await _apply(campaign, Order("again", "Retry", requested_by="mia@example.com"))
    (row,) = await campaign.query("SELECT spec, started_at FROM sendonce.actions")
    assert row["spec"]["requestedBy"] == "mia@example.com"


async def test_an_id_that_half_the_source_carries_names_nobody(world: World) -> None:
    campaign = await world.campaign(None)
    await campaign.imports([world.person(line, ref="same") for line in range(1, 10_003)])
    with pytest.raises(ActionError, match=r"more than 10,000 rows carry these ids; name lines \(line:12\) instead"):
        await _apply(campaign, Order("again", "Retry", Selection(recipients=["same"])))


async def _named_dead_letters(world: World) -> Campaign:
    """Four people in batches of two, called ada, bea, cid and dan, who all failed."""
    campaign = await world.campaign(None)
    people = [world.person(line, ref=ref) for line, ref in enumerate(("ada", "bea", "cid", "dan"), 1)]
    await campaign.imports(people, chunk=2)
    for _ in range(2):
        batch = await campaign.claim()
        await campaign.begin(batch, (1, 2))
        await campaign.end(batch, 1, "failed", reason="permanent", code="550")
        await campaign.end(batch, 2, "failed", reason="retries_exhausted", code="421")
        await campaign.release(batch)
    return campaign


async def test_what_was_suppressed_can_be_retried_and_is_looked_at_anew(world: World) -> None:
    campaign = await world.campaign(2)
    await consent.suppress(world.conn, "default", [consent.Suppression("Email", "user1@example.com", "bounced")])
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    await campaign.end(batch, 2, "sent")
    await campaign.release(batch)
    again = Selection(["suppressed"], reasons=["suppression_list"])
    assert (await _apply(campaign, Order("too early", "Retry", again))).changed == 1
    await campaign.begin(await campaign.claim())
    assert (await campaign.row())["state"] == "suppressed"
    await world.conn.execute("DELETE FROM sendonce.suppressions")
    await campaign.lapse()
    await campaign.release(await campaign.claim())
    assert (await _apply(campaign, Order("now", "Retry", again))).changed == 1
    assert [row.state for row in await campaign.begin(await campaign.claim())] == ["sending"]
