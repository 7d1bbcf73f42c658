"""The ledger's answer about one person: found however they are named, with attempts and refusals."""

import uuid
from collections.abc import Callable
from typing import Any

from sendonce_store import consent, ledger, people, queue
from sendonce_store.connection import Connection
from sendonce_store.consent import OptOut, Suppression
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.rows import Batch, Result
from sendonce_store.tracing import find_people, timeline

Person = Callable[..., Recipient]


async def names(conn: Connection, campaign_id: int, who: str) -> list[int]:
    campaign = await ledger.overview(conn, "default", campaign_id)
    assert campaign is not None
    return [one.no for one in await find_people(conn, campaign, ["Email", "SMS"], who)]


async def test_a_person_is_found_by_reference_address_or_line(conn: Connection, sow: Any, person: Person) -> None:
    sown = await sow(
        [person(2, "A", ref="77", Email="Mia.X@example.com"), person(3, "B", ref="b", Email="b@example.com")]
    )
    assert await names(conn, sown.id, "77") == [2]
    assert await names(conn, sown.id, "mia.x@EXAMPLE.com") == [2]
    assert await names(conn, sown.id, "line:3") == [3]
    assert await names(conn, sown.id, "3") == [3]
    assert await names(conn, sown.id, "nobody@example.com") == []


async def test_an_address_without_a_delivery_is_found_too(conn: Connection, sow: Any, person: Person) -> None:
    sown = await sow([person(2, "A", Email="a@example.com", SMS="+15005550006")])
    assert await names(conn, sown.id, "+15005550006") == [2]


async def test_every_attempt_is_told_in_order_and_the_success_that_only_the_delivery_knows(
    conn: Connection, sow: Any, person: Person, fates: Any
) -> None:
    sown = await sow([person(2, "A", Email="a@example.com")])
    await sown.send({"a@example.com": fates.later})
    await conn.execute("UPDATE sendonce.deliveries SET next_attempt_at = now()")
    await conn.execute("UPDATE sendonce.batches SET claimable_at = now() WHERE kind = 'send'")
    await sown.send()
    (delivery,) = await people.deliveries_of(conn, sown.id, 2)
    steps = list(timeline(delivery, await people.attempts_of(conn, delivery)))
    assert [(one.seq, one.outcome, one.message) for one in steps] == [
        (1, "temporary", "451 try again"),
        (2, "accepted", "message id m-1"),
    ]
    assert steps[1].worker == sown.worker
    assert steps[0].at is not None
    assert delivery.provider == "email"


async def test_an_acceptance_that_came_late_is_told_once(
    conn: Connection, sow: Any, person: Person, fates: Any
) -> None:
    sown = await sow([person(2, "A", Email="a@example.com")])
    await sown.send({"a@example.com": fates.lost})
    (delivery,) = await people.deliveries_of(conn, sown.id, 2)
    batch = Batch(delivery.batch_id, uuid.uuid4(), "send", "Email", None, None, crashes=0, claims=0)
    await queue.record_evidence(
        conn, batch, sown.holder, [Result(delivery.no, 1, "sent", "accepted", message_id="m-9")]
    )
    (delivery,) = await people.deliveries_of(conn, sown.id, 2)
    steps = list(timeline(delivery, await people.attempts_of(conn, delivery)))
    assert [(one.outcome, one.late) for one in steps] == [("unknown", False), ("accepted", True)]


async def test_a_duplicate_is_shown_the_delivery_of_the_line_that_was_first(
    conn: Connection, sow: Any, person: Person, document: Any
) -> None:
    both = document(channels=("Email", "SMS"))
    sown = await sow(
        [
            person(2, "A", Email="a@example.com", SMS="+15005550006"),
            person(3, "B", Email="b@example.com", SMS="+15005550006"),
        ],
        document=both,
    )
    found = await people.deliveries_of(conn, sown.id, 3)
    assert [(one.channel, one.line) for one in found] == [("Email", 3), ("SMS", 2)]


async def test_what_keeps_a_campaign_from_an_address_is_told(conn: Connection, sow: Any, person: Person) -> None:
    sown = await sow([person(2, "A", Email="a@example.com")])
    campaign = await ledger.overview(conn, "default", sown.id)
    assert campaign is not None
    await consent.suppress(conn, "default", [Suppression("Email", "a@example.com", "bounced")], "a list")
    await consent.opt_out(
        conn,
        "default",
        [
            OptOut("Email", "a@example.com", "Marketing"),
            OptOut("Email", "a@example.com", "Marketing", "other"),
            OptOut("Email", "a@example.com", "Transactional"),
        ],
    )
    found = await people.refusals_of(conn, campaign, "Email", "a@example.com")
    assert [(one.kind, one.reason, one.category, one.topic) for one in found] == [
        ("suppressed", "bounced", None, None),
        ("opted out", None, "Marketing", ""),
    ]


async def test_a_refused_row_is_found_by_what_is_kept_of_it(conn: Connection, sow: Any) -> None:
    sown = await sow([], [Rejected(5, "email", "is bad", "mia(at)example.com")])
    assert [one.line for one in await people.rejects_about(conn, sown.id, "MIA", None)] == [5]
    assert [one.line for one in await people.rejects_about(conn, sown.id, "x", 5)] == [5]
    assert await people.rejects_about(conn, sown.id, "tom", None) == []
