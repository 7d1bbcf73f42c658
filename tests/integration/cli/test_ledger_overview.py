"""The ledger's view of a campaign: counts that add up, where it stands, and what did not reach whom."""

from collections.abc import Callable
from typing import Any

from sendonce_store import actions, campaigns, ledger, pace
from sendonce_store.connection import Connection
from sendonce_store.ledger import Filter
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.spec import NotificationCampaign
from sendonce_store.standing import Overview, standing

Person = Callable[..., Recipient]
Document = Callable[..., NotificationCampaign]


async def look(conn: Connection, campaign_id: int) -> Overview:
    found = await ledger.overview(conn, "default", campaign_id)
    assert found is not None
    return found


async def old(conn: Connection, campaign_id: int) -> None:
    """Let the campaign be there for an hour."""
    await conn.execute(
        "UPDATE sendonce.campaigns SET created_at = now() - interval '1 hour' WHERE id = %s", [campaign_id]
    )


async def test_counts_add_up_to_all_deliveries(conn: Connection, sow: Any, person: Person, fates: Any) -> None:
    people = [person(no, f"N{no}", Email=f"n{no}@example.com") for no in range(2, 8)]
    sown = await sow([*people, person(8, "dup", Email="N2@example.com")], [Rejected(9, "email", "is bad", "x")])
    await sown.send({"n2@example.com": fates.refused, "n3@example.com": fates.lost, "n4@example.com": fates.later})
    found = await look(conn, sown.id)
    assert (found.total, found.duplicates, found.rejected, found.unreachable) == (6, 1, 1, 0)
    counts = found.counts
    assert (counts.sent, counts.failed, counts.uncertain, counts.pending) == (3, 1, 1, 1)
    assert counts.total == 6
    assert (counts.final, counts.undelivered) == (5, 2)
    assert (found.waiting, found.due, found.wait_reason) == (1, 0, None)
    assert await ledger.channel_counts(conn, sown.id) == {"Email": counts}


async def test_what_waits_for_another_attempt_is_told_with_its_time(
    conn: Connection, sow: Any, person: Person, fates: Any
) -> None:
    sown = await sow([person(2, "A", Email="a@example.com"), person(3, "B", Email="b@example.com")])
    await sown.register_worker()
    await sown.send({"a@example.com": fates.later})
    retries = await ledger.retries(conn, sown.id)
    assert retries.waiting == 1
    assert retries.first is not None
    found = await look(conn, sown.id)
    assert found.next_due == retries.first
    assert standing(found).reason == "Retrying"
    assert standing(found).message.startswith("1 delivery waits for another attempt, the first at 2")


async def test_a_campaign_without_a_living_worker_needs_a_person(
    conn: Connection, sow: Any, person: Person, fates: Any
) -> None:
    sown = await sow([person(2, "A", Email="a@example.com")])
    await sown.send({"a@example.com": fates.later})
    assert not standing(await look(conn, sown.id)).stalled  # they are being started
    await old(conn, sown.id)
    stands = standing(await look(conn, sown.id))
    assert (stands.reason, stands.stalled) == ("WorkersUnavailable", True)
    await sown.register_worker()
    assert not standing(await look(conn, sown.id)).stalled
    await conn.execute("UPDATE sendonce.workers SET heartbeat_at = now() - interval '5 minutes'")
    assert standing(await look(conn, sown.id)).reason == "WorkersUnavailable"
    await conn.execute("UPDATE sendonce.workers SET heartbeat_at = now(), problem = 'SecretNotFound: Secret x is gone'")
    stands = standing(await look(conn, sown.id))
    assert (stands.reason, stands.message, stands.stalled) == ("SecretNotFound", "Secret x is gone", True)


async def test_the_word_follows_the_campaign(conn: Connection, sow: Any, person: Person, document: Document) -> None:
    later = document(schedule={"startAt": "2199-01-01T00:00:00Z"})
    sown = await sow([person(2, "A", Email="a@example.com")], document=later)
    await sown.register_worker()

    async def word() -> str:
        return standing(await look(conn, sown.id)).reason

    assert await word() == "Scheduled"
    await conn.execute("UPDATE sendonce.campaigns SET start_at = now()")
    assert await word() == "Sending"
    (channel,) = await campaigns.read_channels(conn, sown.id)
    await pace.pause(conn, channel.provider_id, 60.0, "429", "slow down")
    paused = standing(await look(conn, sown.id))
    assert (paused.reason, paused.stalled) == ("ProviderPaused", False)
    assert paused.message.endswith("slow down")
    await actions.suspend(conn, sown.id, suspended=True)
    assert await word() == "Suspended"
    await campaigns.halt(conn, sown.id, "CredentialsRejected", "535 no")
    halted = standing(await look(conn, sown.id))
    assert (halted.reason, halted.message, halted.stalled) == ("CredentialsRejected", "535 no", True)
    await actions.cancel(conn, sown.id)
    assert await word() == "Cancelled"


async def test_what_a_provider_holds_back_is_not_due_while_the_rest_is(
    conn: Connection, sow: Any, person: Person, document: Document
) -> None:
    people = [person(no, f"N{no}", Email=f"n{no}@example.com", SMS=f"+1500555000{no}") for no in (6, 7)]
    sown = await sow(people, document=document(channels=("Email", "SMS")))
    assert (await look(conn, sown.id)).due == 4
    await conn.execute("UPDATE sendonce.providers SET suspended = true WHERE name = 'sms'")
    found = await look(conn, sown.id)
    assert (found.due, found.next_due, found.suspended_provider) == (2, None, "sms")
    await sown.send()
    found = await look(conn, sown.id)
    assert (found.counts.sent, found.counts.pending, found.due, found.idle) == (2, 2, 0, True)
    await conn.execute("UPDATE sendonce.providers SET suspended = false, paused_until = now() + interval '1 hour'")
    found = await look(conn, sown.id)
    assert (found.due, found.next_due) == (0, found.provider_paused_until)
    await conn.execute("UPDATE sendonce.providers SET paused_until = now() + interval '10 seconds'")
    assert (await look(conn, sown.id)).due == 2, "workers are kept for it"
    await conn.execute("UPDATE sendonce.providers SET paused_until = now() - interval '1 second'")
    assert (await look(conn, sown.id)).due == 2


async def test_quiet_hours_are_told_from_retries(conn: Connection, sow: Any, person: Person, fates: Any) -> None:
    sown = await sow([person(2, "A", Email="a@example.com")])
    await sown.register_worker()
    await sown.send({"a@example.com": fates.later})
    await conn.execute("UPDATE sendonce.deliveries SET reason = 'quiet_hours'")
    assert standing(await look(conn, sown.id)).reason == "QuietHours"


async def test_a_finished_campaign_is_told_by_how_it_ended(
    conn: Connection, sow: Any, person: Person, fates: Any
) -> None:
    sown = await sow([person(2, "A", Email="a@example.com"), person(3, "B", Email="b@example.com")])
    await sown.send({"a@example.com": fates.refused})
    stands = standing(await look(conn, sown.id))
    assert (stands.reason, stands.message, stands.stalled) == (
        "SomeUndelivered", "1 sent, 1 not, 0 people without an address", False,
    )  # fmt: skip


async def test_outcomes_are_grouped_by_reason_and_code_the_most_frequent_first(
    conn: Connection, sow: Any, person: Person, fates: Any
) -> None:
    sown = await sow([person(no, f"N{no}", Email=f"n{no}@example.com") for no in range(2, 8)])
    refused = dict.fromkeys(("n2@example.com", "n3@example.com"), fates.refused)
    await sown.send(refused | {"n4@example.com": fates.lost})
    found = await ledger.outcomes(conn, sown.id)
    assert [(one.state, one.reason, one.code, one.count) for one in found] == [
        ("failed", "permanent", "5.1.1", 2),
        ("uncertain", "unknown_outcome", "timeout", 1),
    ]
    assert found[0].error == "550 5.1.1 no such user"
    (only,) = await ledger.outcomes(conn, sown.id, Filter(states=["uncertain"], codes=["timeout"], channels=["Email"]))
    assert only.count == 1
    assert await ledger.outcomes(conn, sown.id, Filter(reasons=["poison"])) == []


async def test_deliveries_are_listed_page_by_page_and_filtered(
    conn: Connection, sow: Any, person: Person, fates: Any
) -> None:
    people = [person(no, f"N{no}", ref=f"c{no}", Email=f"n{no}@example.com") for no in range(2, 702)]
    sown = await sow(people)
    await sown.send({"n5@example.com": fates.refused, "n650@example.com": fates.refused})
    first = await ledger.deliveries(conn, sown.id, limit=400)
    rest = await ledger.deliveries(conn, sown.id, after=(first[-1].batch_id, first[-1].no), limit=400)
    assert [one.line for one in [*first, *rest]] == list(range(2, 702))
    failed = await ledger.deliveries(conn, sown.id, Filter(states=["failed"]))
    assert [one.ref for one in failed] == ["c5", "c650"]
    assert [one.error for one in failed] == ["550 5.1.1 no such user"] * 2
    (found,) = await ledger.deliveries(conn, sown.id, Filter(search="N651@EX"))
    assert (found.line, found.state, found.attempts) == (651, "sent", 1)
    assert await ledger.deliveries(conn, sown.id, Filter(states=["uncertain"])) == []


async def test_people_without_an_address_are_listed(
    conn: Connection, sow: Any, person: Person, document: Document
) -> None:
    sown = await sow([person(2, "A", ref="a", Email="a@example.com"), person(3, "B", ref="b")], document=document())
    assert await ledger.unreachable(conn, sown.id) == [(3, "b")]
    assert (await look(conn, sown.id)).unreachable == 1


async def test_refused_rows_are_listed_in_order(conn: Connection, sow: Any) -> None:
    sown = await sow([], [Rejected(line, "email", "is bad", f"row {line}") for line in (3, 5, 9)])
    assert [one.line for one in await ledger.rejects(conn, sown.id, after=3)] == [5, 9]


async def test_a_campaign_is_found_by_send_key_before_name(conn: Connection, sow: Any, document: Document) -> None:
    first = await sow([], document=document("spring"))
    second = await sow([], document=document("spring", sendKey="spring-2"))
    assert await ledger.find_campaign(conn, "default", "spring") == first.id
    assert await ledger.find_campaign(conn, "default", "spring-2") == second.id
    assert await ledger.find_campaign(conn, "other", "spring") is None
    assert await ledger.campaign_names(conn, "default", "spring-") == ["spring-2"]
    assert [one.send_key for one in await ledger.overviews(conn, "default")] == ["spring-2", "spring"]
