"""What a report does in the store: it settles, marks, counts and suppresses, once, and in one namespace."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.integration.gateway.receipts.conftest import HERE, place_of

from sendonce_store import actions, consent, ledger, receipts, retention
from sendonce_store.actions import Order, Selection, Target
from sendonce_store.decisions import verdict
from sendonce_store.receipts import EVERY_NAMESPACE, Kind, Receipt, Reporter

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World
    from tests.integration.gateway.receipts.conftest import Reports

UNKNOWN: dict[str, Any] = {"unknown": True, "outcome": "unknown", "reason": "unknown_outcome"}


async def _sent(world: World, people: int = 1, **wishes: Any) -> Campaign:
    """A campaign of which everything was sent."""
    campaign = await world.campaign(people, **wishes)
    batch = await campaign.claim()
    nos = range(1, people + 1)
    await campaign.begin(batch, nos)
    for no in nos:
        await campaign.end(batch, no, "sent", message_id=f"m-{no}")
    assert await campaign.release(batch) == "done"
    return campaign


async def _uncertain(world: World, people: int = 1) -> Campaign:
    campaign = await world.campaign(people)
    batch = await campaign.claim()
    for no in range(1, people + 1):
        await campaign.begin(batch, [no])
        await campaign.end(batch, no, "uncertain", **UNKNOWN)
    await campaign.release(batch)
    return campaign


async def _consent(world: World) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    suppressed = [one async for one in consent.suppressions(world.conn, "default")]
    out = [one async for one in consent.opt_outs(world.conn, "default")]
    return (
        [(one.channel, one.address, one.reason, one.source or "") for one in suppressed],
        [(one.channel, one.address, one.category, one.topic, one.source or "") for one in out],
    )


# --- settling -------------------------------------------------------------------------------------------------------
SAYS_IT_WAS_TAKEN = [kind for kind in Kind if kind not in {Kind.RETURNED, Kind.BLOCKED}]


async def test_any_report_shows_that_an_uncertain_message_was_accepted(world: World, reports: Reports) -> None:
    campaign = await _uncertain(world, len(SAYS_IT_WAS_TAKEN))
    await campaign.conduct()
    assert (await campaign.record())["ended_reason"] == "SomeUndelivered"
    for kind, row in zip(SAYS_IT_WAS_TAKEN, await campaign.rows(), strict=True):
        assert await reports.about(row, kind, message_id="m-7", detail="its words") == "settled"
        now = await campaign.row(row["no"])
        assert (now["state"], now["reason"], now["message_id"], now["evidence"]) == ("sent", None, "m-7", True)
        noted = (await campaign.attempts())[-1]
        assert (noted["worker"], noted["outcome"], noted["code"]) == ("receipt:ses/far-end", "accepted", kind)
        assert noted["message"] == "settled by the provider's report, it was uncertain: its words"
    record = await campaign.record()
    assert (record["ended_reason"], record["ended_message"]) == verdict(await campaign.facts()) == ("AllSent", "8 sent")


async def test_the_end_of_a_campaign_is_told_as_it_is_told_elsewhere(world: World, reports: Reports) -> None:
    campaign = await _uncertain(world, 3)
    await campaign.conduct()
    await reports.about(await campaign.row(2), Kind.DELIVERED)
    record = await campaign.record()
    assert (record["ended_reason"], record["ended_message"]) == verdict(await campaign.facts())
    assert record["ended_message"] == "1 sent, 2 not, 0 people without an address"


async def test_a_report_settles_a_message_that_waits_for_its_repeat(world: World, reports: Reports) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "pending", delay=600.0, **UNKNOWN | {"reason": None})
    assert await campaign.release(batch) == "pending"
    assert await reports.about(await campaign.row(), Kind.DELIVERED) == "settled"
    assert await campaign.states() == {"sent": 1}
    assert [one["state"] for one in await campaign.batches()] == ["done"]
    assert [step.reason for step in await campaign.conduct()] == ["AllSent"]


async def test_an_order_to_send_again_is_void_once_the_first_is_known_to_have_arrived(
    world: World, reports: Reports
) -> None:
    campaign = await _uncertain(world)
    order = Order("again", "Resolve", Selection(states=("uncertain",)), resolve_as="resend")
    await actions.apply(world.conn, Target(campaign.id, "default"), order)
    assert await campaign.states() == {"pending": 1}
    assert await reports.about(await campaign.row(), Kind.DELIVERED) == "settled"
    assert await campaign.try_claim() is None


async def test_what_was_definitely_refused_is_tried_again_unless_it_arrived_all_the_same(
    world: World, reports: Reports
) -> None:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    for no in (1, 2):
        await campaign.end(batch, no, "pending", outcome="temporary", delay=600.0, used=1)
    await campaign.release(batch)
    assert await reports.about(await campaign.row(1), Kind.FAILED) == "noted"
    assert await reports.about(await campaign.row(2), Kind.DELIVERED) == "settled"
    assert await campaign.states() == {"pending": 1, "sent": 1}
    assert await reports.counters(campaign) == (1, 0)


async def test_a_report_that_overtakes_the_answer_outranks_it(world: World, reports: Reports) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    assert await reports.about(await campaign.row(), Kind.DELIVERED) == "marked"
    assert (await campaign.row())["state"] == "sending"  # the worker has it in its hands
    await campaign.end(batch, 1, "uncertain", **UNKNOWN)
    assert await campaign.states() == {"sent": 1}
    assert await reports.counters(campaign) == (1, 0)
    assert await campaign.release(batch) == "done"


async def test_a_report_settles_what_a_worker_left_behind(world: World, reports: Reports) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await reports.about(await campaign.row(), Kind.ACCEPTED)
    await campaign.lapse()
    await campaign.claim("worker-2")
    assert await campaign.states() == {"sent": 1}


async def test_a_persons_word_that_it_failed_is_corrected_by_an_arrival_alone(world: World, reports: Reports) -> None:
    campaign = await _uncertain(world, 3)
    order = Order("not there", "Resolve", Selection(states=("uncertain",)), resolve_as="failed")
    await actions.apply(world.conn, Target(campaign.id, "default"), order)
    for kind, row in zip((Kind.DELIVERED, Kind.BOUNCED, Kind.DROPPED), await campaign.rows(), strict=True):
        await reports.about(row, kind)
    ended = [(row["state"], row["reason"]) for row in await campaign.rows()]
    assert ended == [("sent", None), ("failed", "resolved"), ("failed", "resolved")]
    assert await reports.counters(campaign) == (1, 0)


async def test_nothing_is_ever_unsent_and_what_was_never_handed_off_stays_so(world: World, reports: Reports) -> None:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch, [1])
    await campaign.end(batch, 1, "sent")
    await campaign.release(batch)
    for kind in Kind:
        await reports.about(await campaign.row(1), kind)
        assert await reports.about(await campaign.row(2), kind) == "noted"
    assert [row["state"] for row in await campaign.rows()] == ["sent", "pending"]
    assert await reports.counters(campaign) == (0, 1)


# --- counting -------------------------------------------------------------------------------------------------------
STORY = (Kind.ACCEPTED, Kind.DELIVERED, Kind.BOUNCED_TRANSIENT, Kind.BOUNCED, Kind.COMPLAINED)
COUNTED = {
    (Kind.DELIVERED,): (1, 0),
    (Kind.BOUNCED,): (0, 1),
    (Kind.DELIVERED, Kind.BOUNCED): (0, 1),
    (Kind.DELIVERED, Kind.BOUNCED_TRANSIENT): (1, 0),
    (Kind.DELIVERED, Kind.FAILED, Kind.COMPLAINED): (1, 0),
    (Kind.ACCEPTED, Kind.DROPPED, Kind.UNSUBSCRIBED): (0, 1),
    (Kind.ACCEPTED, Kind.COMPLAINED): (0, 0),
    STORY[:4]: (0, 1),
}


async def test_a_delivery_is_counted_once_whatever_the_order_of_its_reports(world: World, reports: Reports) -> None:
    orders = [(order, counted) for story, counted in COUNTED.items() for order in permutations(story)]
    campaign = await _sent(world, len(orders))
    rows = await campaign.rows()
    for (order, _), row in zip(orders, rows, strict=True):
        for kind in order:
            event = f"{row['no']} {kind}"
            await reports.about(row, kind, event_id=event)
            # that a sent message was accepted is nothing new, and is not remembered
            again = "noted" if kind is Kind.ACCEPTED else "repeated"
            assert await reports.about(row, kind, event_id=event) == again
    assert await reports.counters(campaign) == tuple(sum(c[i] for _, c in orders) for i in (0, 1))
    ended = {row["no"]: row["receipt"] for row in await campaign.rows()}
    for (order, counted), row in zip(orders, rows, strict=True):
        assert ((ended[row["no"]] == 2), (ended[row["no"]] in {1, 3})) == counted, order


async def test_the_same_event_twice_at_once_is_taken_once(world: World, reports: Reports) -> None:
    campaign = await _uncertain(world)
    event = Receipt(Kind.BOUNCED, "event-1", delivery_id=place_of(await campaign.row()), detail="gone")
    hands = [reports.gateway, *[await reports.another() for _ in range(3)]]
    done = await asyncio.gather(*(receipts.record(conn, HERE, [event]) for conn in hands))
    assert sorted(result for [(_, result)] in done) == ["repeated"] * 3 + ["settled"]
    assert await reports.counters(campaign) == (0, 1)
    assert [one["outcome"] for one in await campaign.attempts()].count("accepted") == 1


async def test_two_requests_about_the_same_deliveries_wait_for_each_other(world: World, reports: Reports) -> None:
    campaign = await _sent(world, 40)
    places = [place_of(row) for row in await campaign.rows()]
    told = [Receipt(Kind.DELIVERED, f"d{n}", delivery_id=place) for n, place in enumerate(places)]
    other = [Receipt(Kind.BOUNCED, f"b{n}", delivery_id=place) for n, place in enumerate(reversed(places))]
    second = await reports.another()
    done = await asyncio.gather(receipts.record(reports.gateway, HERE, told), receipts.record(second, HERE, other))
    assert [len(one) for one in done] == [40, 40]
    assert await reports.counters(campaign) == (0, 40)


async def test_the_counters_are_in_the_overview_and_outlive_the_recipients_data(world: World, reports: Reports) -> None:
    campaign = await _sent(world, 3)
    await campaign.conduct()
    for no, kind in ((1, Kind.DELIVERED), (2, Kind.DELIVERED), (3, Kind.BOUNCED)):
        await reports.about(await campaign.row(no), kind)
    assert await receipts.reported(world.conn, 30) == {campaign.id}
    await retention.delete_data(world.conn, campaign.id)
    overview = await ledger.overview(world.conn, "default", campaign.id)
    assert overview is not None
    assert (overview.reports.delivered, overview.reports.bounced, overview.counts.sent) == (2, 1, 3)


async def test_a_report_about_what_was_deleted_is_about_nothing(world: World, reports: Reports) -> None:
    campaign = await _sent(world)
    await campaign.conduct()
    row = await campaign.row()
    await retention.delete_data(world.conn, campaign.id)
    assert await reports.about(row, Kind.BOUNCED) == "unknown"


# --- whose it is ----------------------------------------------------------------------------------------------------
async def test_a_delivery_of_another_store_is_none_of_ours(world: World, reports: Reports) -> None:
    campaign = await _uncertain(world)
    place = place_of(await campaign.row())
    bare = place.rpartition("-")[0]
    for wrong in (f"{bare}-00000000", bare, f"9{place}", f"{place}' OR true --", "9" * 400 + place, "\x00"):
        assert await reports.told(Kind.DELIVERED, delivery_id=wrong, message_id="m") == "unknown"
    assert await campaign.states() == {"uncertain": 1}
    assert await campaign.query("SELECT event_id FROM sendonce.receipts") == []


async def test_who_reports_for_another_touches_nothing(world: World, reports: Reports) -> None:
    campaign = await _uncertain(world)
    await world.provider("another")
    await world.conn.execute(
        "INSERT INTO sendonce.providers (namespace, kind, name, spec) VALUES"
        " ('bank', 'NotificationProvider', 'far-end', '{}'), ('', 'ClusterNotificationProvider', 'far-end', '{}')"
    )
    row = await campaign.row()
    for reporter in (
        Reporter("bank", "ses", "far-end"),  # another namespace, whose provider is called the same
        Reporter("default", "ses", "another"),  # another provider of the namespace
        Reporter(EVERY_NAMESPACE, "ses", "far-end"),  # a cluster provider of that name
    ):
        for kind in Kind:
            assert await reports.told(kind, reporter, delivery_id=place_of(row)) == "unknown"
            assert await reports.told(kind, reporter, message_id="m-1", address=row["address"]) == "unknown"
    assert await campaign.states() == {"uncertain": 1}
    assert await _consent(world) == ([], [])


async def test_a_cluster_provider_may_report_for_every_namespace_that_uses_it(world: World, reports: Reports) -> None:
    campaign = await _uncertain(world)
    await world.conn.execute(
        "UPDATE sendonce.providers SET namespace = '', kind = 'ClusterNotificationProvider' WHERE name = 'far-end'"
    )
    place = place_of(await campaign.row())
    everywhere = Reporter(EVERY_NAMESPACE, "ses", "far-end")
    assert await reports.told(Kind.BOUNCED, everywhere, delivery_id=place) == "settled"
    assert await reports.told(Kind.BLOCKED, everywhere, address="x", channel="Line") == "noted"
    rows = await campaign.query("SELECT namespace, address, reason FROM sendonce.suppressions ORDER BY reason")
    assert [(row["namespace"], row["address"], row["reason"]) for row in rows] == [
        ("default", "x", "blocked"),
        ("default", "user1@example.com", "bounced"),
    ]
    assert await reports.told(Kind.DELIVERED, Reporter("bank", "ses", "far-end"), delivery_id=place) == "unknown"


async def test_without_our_id_the_providers_and_the_address_do(world: World, reports: Reports) -> None:
    campaign = await _sent(world, 2)
    row = await campaign.row(2)
    known = {"message_id": "m-2", "address": row["address"]}
    assert await reports.told(Kind.DELIVERED, **known | {"address": "user1@example.com"}) == "unknown"
    assert await reports.told(Kind.DELIVERED, **known | {"message_id": "m-1"}) == "unknown"
    assert await reports.told(Kind.DELIVERED, message_id="m-2") == "unknown"
    assert await reports.told(Kind.DELIVERED, **known) == "marked"
    assert [one["receipt"] for one in await campaign.rows()] == [0, 2]
    # an id in the metadata that is not of our form is somebody's own
    assert await reports.told(Kind.BOUNCED, delivery_id="order-4711", **known) == "marked"


async def test_the_login_of_the_gateway_does_nothing_but_that(reports: Reports) -> None:
    for statement in (
        "SELECT * FROM sendonce.receipts",
        "INSERT INTO sendonce.suppressions VALUES ('default', 'Email', 'a', 'bounced')",
        "SELECT sendonce.receipt_is_new('default', 'p', 'e')",
        "SELECT sendonce.receipt_consent('default', 'p', 'Email', 'a', 'bounced', 'o', now())",
        "SELECT sendonce.receipt_retell(1)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await reports.gateway.execute(statement)


async def test_the_login_of_a_namespace_can_report_nothing(world: World) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await receipts.record(world.hands, HERE, [Receipt(Kind.BOUNCED, "e", delivery_id="1-1-00000000")])


# --- people ---------------------------------------------------------------------------------------------------------
async def test_what_a_report_says_of_the_person_holds_from_then_on(world: World, reports: Reports) -> None:
    told = dict(enumerate((kind for kind in Kind if kind is not Kind.RETURNED), start=1))
    campaign = await _sent(world, len(told))
    for no, kind in told.items():
        result = await reports.about(await campaign.row(no), kind, address="somebody@example.com")
        assert result in {"marked", "noted"}
    people = {kind: f"user{no}@example.com" for no, kind in told.items()}
    source = "receipt:ses/far-end"
    suppressed, out = await _consent(world)
    assert sorted(suppressed) == [
        ("Email", people[Kind.BOUNCED], "bounced", source),
        ("Email", people[Kind.BLOCKED], "blocked", source),
    ]
    assert sorted(out) == [
        ("Email", people[Kind.COMPLAINED], "Marketing", "", source),
        ("Email", people[Kind.UNSUBSCRIBED], "Marketing", "", source),
    ]
    trouble = {one["outcome"] for one in await campaign.attempts()}
    assert trouble == set(told.values()) - {Kind.ACCEPTED, Kind.DELIVERED}
    # the next campaign keeps to it
    following = await world.campaign(len(told), name="summer")
    started = await following.begin(await following.claim(), list(told))
    kept_off = {told[one.no] for one in started if one.state == "suppressed"}
    assert kept_off == {Kind.BOUNCED, Kind.BLOCKED, Kind.COMPLAINED, Kind.UNSUBSCRIBED}


async def test_a_complaint_keeps_no_order_confirmation_away_a_bounce_does(world: World, reports: Reports) -> None:
    campaign = await _sent(world, 3)
    for no, kind in enumerate((Kind.COMPLAINED, Kind.UNSUBSCRIBED, Kind.BOUNCED), start=1):
        await reports.about(await campaign.row(no), kind)
    orders = await world.campaign(3, name="orders", category="Transactional")
    started = await orders.begin(await orders.claim(), [1, 2, 3])
    assert [one.state for one in sorted(started, key=lambda one: one.no)] == ["sending", "sending", "suppressed"]


async def test_an_opt_out_that_was_taken_back_does_not_come_again_with_its_old_event(
    world: World, reports: Reports
) -> None:
    campaign = await _sent(world)
    row = await campaign.row()
    assert await reports.about(row, Kind.UNSUBSCRIBED, event_id="old") == "noted"
    [out] = [one async for one in consent.opt_outs(world.conn, "default")]
    await consent.opt_in(world.conn, "default", [out])
    assert await reports.about(row, Kind.UNSUBSCRIBED, event_id="old") == "repeated"
    assert await _consent(world) == ([], [])


async def test_an_event_that_may_be_used_once_is_used_up_by_whatever_it_said(world: World, reports: Reports) -> None:
    campaign = await _sent(world)
    place = place_of(await campaign.row())
    assert await reports.told(Kind.DELIVERED, event_id="token", delivery_id="9-9-00000000", once=True) == "unknown"
    assert await reports.told(Kind.COMPLAINED, event_id="token", delivery_id=place, once=True) == "repeated"
    assert await _consent(world) == ([], [])


BLOCKS = {
    (Kind.BLOCKED, Kind.RETURNED): False,
    (Kind.BLOCKED, Kind.RETURNED, Kind.BLOCKED): True,
    (Kind.UNSUBSCRIBED, Kind.RETURNED): False,
    (Kind.UNSUBSCRIBED, Kind.RETURNED, Kind.UNSUBSCRIBED): True,
}


async def test_who_blocks_is_let_alone_and_who_comes_back_is_written_to_whatever_the_order(
    world: World, reports: Reports
) -> None:
    await world.provider()
    line, kept_off = Reporter("default", "line", "far-end"), set()
    for number, (story, ends_blocked) in enumerate(BLOCKS.items()):
        for way, order in enumerate(permutations(enumerate(story))):
            address = f"U{number}-{way}"
            kept_off |= {address} if ends_blocked else set()
            for place, kind in order:
                at = datetime.now(UTC) - timedelta(minutes=10 - place)
                assert await reports.told(kind, line, address=address, channel="Line", at=at) == "noted"
    suppressed, out = await _consent(world)
    assert {address for _, address, *_ in [*suppressed, *out]} == kept_off
    for address in kept_off:
        await reports.told(Kind.RETURNED, line, address=address, channel="Line")
    assert await _consent(world) == ([], [])


async def test_a_return_takes_back_no_more_than_reports_put_up(world: World, reports: Reports) -> None:
    await world.provider()
    mine = [consent.Suppression("Line", "U1", "blocked"), consent.Suppression("Line", "U2", "bounced")]
    await consent.suppress(world.conn, "default", mine, "support")
    await consent.opt_out(world.conn, "default", [consent.OptOut("SMS", "+15005550006", "Marketing")], "support")
    for channel, address in (("Line", "U1"), ("Line", "U2"), ("SMS", "+15005550006")):
        assert await reports.told(Kind.RETURNED, channel=channel, address=address) == "noted"
    suppressed, out = await _consent(world)
    assert (len(suppressed), len(out)) == (2, 1)


async def test_a_clock_that_is_ahead_dates_nothing_into_the_future(world: World, reports: Reports) -> None:
    campaign = await _sent(world)
    [row] = await campaign.query("SELECT now() + interval '1 day' AS tomorrow")
    await reports.about(await campaign.row(), Kind.BOUNCED, at=row["tomorrow"])
    [row] = await campaign.query(
        "SELECT d.receipt_at <= now() AND s.created_at <= now() AS past"
        " FROM sendonce.deliveries d, sendonce.suppressions s"
    )
    assert row["past"]


# --- upkeep ---------------------------------------------------------------------------------------------------------
async def test_events_are_forgotten_after_a_while_in_small_steps(world: World, reports: Reports) -> None:
    campaign = await _sent(world, 5)
    for row in await campaign.rows():
        await reports.about(row, Kind.DELIVERED)
    await campaign.query(
        "UPDATE sendonce.receipts SET seen_at = now() - interval '31 days' WHERE event_id <> 'event-5'"
    )
    assert await receipts.forget(world.conn, step=2) == 4
    assert [row["event_id"] for row in await campaign.query("SELECT event_id FROM sendonce.receipts")] == ["event-5"]
    # and even then it is counted once
    assert await reports.about(await campaign.row(1), Kind.DELIVERED, event_id="event-1") == "noted"
    assert await reports.counters(campaign) == (5, 0)


async def test_words_of_any_kind_are_kept_without_harm(world: World, reports: Reports) -> None:
    campaign = await _sent(world)
    row = await campaign.row()
    words = "550\x00\r\n\x1b[31m user \ud800 unknown " + "ä" * 5000
    assert await reports.about(row, Kind.BOUNCED, event_id="e" * 5000, detail=words) == "marked"
    assert await reports.about(row, Kind.BOUNCED, event_id="e" * 5000) == "repeated"
    said = (await campaign.attempts())[-1]["message"]
    assert said.startswith("550 [31m user unknown ä")
    assert len(said) == 500
