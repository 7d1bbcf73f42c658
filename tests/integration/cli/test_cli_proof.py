"""`sendonce proof` over a real store: what it counts, when there is none, and whether a file is as it was made."""

import json
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from sendonce_store import actions, queue, retention
from sendonce_store.actions import Order, Selection, Target
from sendonce_store.connection import Connection
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.rows import Batch, Result

Sendonce = Callable[..., Awaitable[Any]]
Person = Callable[..., Recipient]
AGAIN = (
    "UPDATE sendonce.deliveries SET next_attempt_at = now() WHERE state = 'pending'",
    "UPDATE sendonce.batches SET claimable_at = now() WHERE state = 'pending' AND kind = 'send'",
)


@pytest.fixture
async def spring(sow: Any, person: Person, fates: Any) -> Any:
    """Four people: two are sent to, one is refused for good, one answer is lost; a row was refused, and it is over."""
    people = [person(2 + no, "P", Email=f"{name}@example.com") for no, name in enumerate("abcd")]
    sown = await sow(people, [Rejected(9, "email", "is no address", "x")])
    await sown.send({"c@example.com": fates.refused, "d@example.com": fates.lost})
    return sown


async def proof(sendonce: Sendonce, *more: str) -> Any:
    ran = await sendonce("proof", "spring", "-o", "json", *more)
    assert ran.code == 0, ran.err
    return ran.data


async def test_a_proof_of_a_finished_campaign_adds_up(sendonce: Sendonce, spring: Any) -> None:
    found = await proof(sendonce)
    assert found["holds"] is True
    assert found["people"] == {"rowsRead": 5, "total": 4, "duplicates": 0, "rejected": 1, "unreachable": 0}
    counts = {name: count for name, count in found["deliveries"]["states"].items() if count}
    assert counts == {"sent": 2, "failed": 1, "uncertain": 1}
    assert [(one["state"], one["reason"], one["code"]) for one in found["reasons"]] == [
        ("failed", "permanent", "5.1.1"),
        ("uncertain", "unknown_outcome", "timeout"),
    ]
    assert found["deliveries"]["firstHandOff"] <= found["deliveries"]["lastHandOff"]
    assert (found["duplicates"]["count"], found["duplicates"]["uncertain"]) == (0, 1)
    assert len(found["sums"]) >= 7


async def test_the_gist_is_shown_to_people(sendonce: Sendonce, spring: Any) -> None:
    ran = await sendonce("proof", "spring")
    assert "the proof of spring holds" in ran.out
    assert "1 delivery is uncertain" in ran.out


async def test_a_campaign_that_has_not_ended_has_no_proof(sendonce: Sendonce, sow: Any, person: Person) -> None:
    await sow([person(2, "A", Email="a@example.com")])
    ran = await sendonce("proof", "spring", "-o", "json")
    assert (ran.code, ran.out) == (2, "")
    assert "has not ended" in ran.err


async def test_a_repeat_by_order_after_a_lost_answer_is_told_as_possible(
    sendonce: Sendonce, spring: Any, conn: Connection
) -> None:
    order = Order("again", "Resolve", Selection(states=("uncertain",)), "resend", 0)
    await actions.apply(conn, Target(spring.id, "default"), order)
    for statement in AGAIN:
        await conn.execute(statement)
    await spring.send()
    found = await proof(sendonce)
    assert found["deliveries"]["states"]["sent"] == 3
    assert (found["duplicates"]["count"], found["duplicates"]["possible"]) == (0, 1)
    assert [(one["type"], one["changed"]) for one in found["acts"]] == [("Resolve as resend", 1)]
    assert any("possibly repeated" in sentence for sentence in found["unknown"])


async def test_an_acceptance_by_decision_is_told_as_one(sendonce: Sendonce, spring: Any, conn: Connection) -> None:
    order = Order("they-got-it", "Resolve", Selection(states=("uncertain",)), "sent", 0)
    await actions.apply(conn, Target(spring.id, "default"), order)
    found = await proof(sendonce)
    assert (found["duplicates"]["sentByDecision"], found["duplicates"]["possible"]) == (1, 0)


async def test_a_decision_is_no_acceptance_of_an_attempt_that_left_no_note(
    sendonce: Sendonce, spring: Any, conn: Connection
) -> None:
    """As after a campaign was deleted while a worker that was gone had a second attempt on its way."""
    await conn.execute("UPDATE sendonce.attempts SET outcome = 'accepted' WHERE outcome = 'unknown'")
    await conn.execute("UPDATE sendonce.deliveries SET attempt_seq = 2 WHERE state = 'uncertain'")
    order = Order("they-got-it", "Resolve", Selection(states=("uncertain",)), "sent", 0)
    await actions.apply(conn, Target(spring.id, "default"), order)
    found = (await proof(sendonce))["duplicates"]
    assert (found["count"], found["possible"], found["sentByDecision"]) == (0, 1, 1)


@pytest.mark.parametrize(("window", "twice", "covered"), [(None, 1, 0), (86_400, 0, 1), (1, 1, 0)])
async def test_two_acceptances_are_duplicates_unless_one_key_covers_both(
    sendonce: Sendonce,
    sow: Any,
    person: Person,
    fates: Any,
    conn: Connection,
    window: int | None,
    twice: int,
    covered: int,
) -> None:
    """The first answer comes when the row is away again, under another attempt."""
    sown = await sow([person(2, "A", Email="a@example.com")])
    await sown.send({"a@example.com": {**fates.later, "outcome": "unknown", "unknown": True, "delay": 0.0}}, most=1)
    for statement in AGAIN:
        await conn.execute(statement)
    if window is not None:
        keyed = '{"http": {"url": "http://127.0.0.1:9/", "idempotencyKeyHeader": "K", "keyWindowSeconds": %s}}'
        await conn.execute("UPDATE sendonce.providers SET spec = spec || %s::jsonb", [keyed % window])
    await conn.execute(
        "UPDATE sendonce.deliveries"
        " SET resend_ordered = true, first_attempt_at = first_attempt_at - interval '1 minute'"
    )
    await sown.send()
    cursor = await conn.execute("SELECT batch_id, no, attempt_seq FROM sendonce.deliveries")
    row = await cursor.fetchone()
    assert row is not None
    batch = Batch(row["batch_id"], uuid.uuid4(), "send", "Email", 1, None, 0, 1)
    await queue.record_evidence(conn, batch, sown.holder, [Result(row["no"], 1, state="sent")])
    ran = await sendonce("proof", "spring", "-o", "json")
    assert ran.code == (1 if twice else 0)
    assert ran.data["duplicates"]["count"] == twice
    assert ran.data["duplicates"]["repeatedUnderOneKey"] == covered


async def test_counters_that_lie_are_found_out(sendonce: Sendonce, spring: Any, conn: Connection) -> None:
    await conn.execute("UPDATE sendonce.batches SET sent = sent + 1 WHERE kind = 'send'")
    ran = await sendonce("proof", "spring")
    assert ran.code == 1
    assert "WRONG: Email, sent: rows, as counted: 2, not 3" in ran.out


async def test_after_the_data_is_gone_the_totals_are_left(sendonce: Sendonce, spring: Any, conn: Connection) -> None:
    before = await proof(sendonce)
    await retention.delete_data(conn, spring.id)
    after = await proof(sendonce)
    assert after["deliveries"]["states"] == before["deliveries"]["states"]
    assert after["content"] == before["content"]
    assert after["duplicates"]["count"] is None
    assert "was deleted" in after["unknown"][0]


async def test_addresses_in_the_far_ends_words_are_masked(
    sendonce: Sendonce, sow: Any, person: Person, fates: Any
) -> None:
    sown = await sow([person(2, "A", Email="jane@example.com")])
    await sown.send({"jane@example.com": {**fates.refused, "error": "550 <jane@example.com> unknown"}})
    for form in ("json", "csv", "html"):
        ran = await sendonce("proof", "spring", "-o", form)
        assert "jane@" not in ran.out
        assert "j***@example.com" in ran.out


async def test_a_signed_proof_is_checked_and_a_changed_one_is_refused(
    sendonce: Sendonce, spring: Any, tmp_path: Path
) -> None:
    key, pub, sig, file = (tmp_path / name for name in ("key.pem", "pub.pem", "proof.sig", "proof.json"))
    made = Ed25519PrivateKey.generate()
    key.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    pub.write_bytes(made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    ran = await sendonce("proof", "spring", "-o", "json", "--key", str(key), "--signature", str(sig))
    file.write_text(ran.out, "utf-8")
    who = ("--signature", str(sig), "--public-key", str(pub))
    ran = await sendonce("proof", "--verify", str(file), *who)
    assert (ran.code, ran.err) == (0, "")
    assert "the signature fits" in ran.out
    assert "the digest fits" in ran.out
    document = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(document), "utf-8")
    ran = await sendonce("proof", "--verify", str(file), *who)
    assert (ran.code, "does not fit" in ran.err) == (2, True)
    ran = await sendonce("proof", "--verify", str(file))
    assert (ran.code, "who made it is not known" in ran.out) == (0, True)
    document["deliveries"]["states"]["sent"] += 1
    file.write_text(json.dumps(document), "utf-8")
    ran = await sendonce("proof", "--verify", str(file))
    assert (ran.code, "was changed after it was made" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "CAMPAIGN is missing"),
        (["spring", "--signature", "x.sig", "-o", "json"], "--key and --signature belong together"),
        (["--verify", __file__, "--signature", "x.sig"], "--signature and --public-key belong together"),
        (
            ["--verify", __file__, "--signature", "nowhere.sig", "--public-key", __file__],
            "there is no file nowhere.sig",
        ),
        (["--verify", __file__], "this is no proof in JSON"),
        (["spring", "--key", __file__, "--signature", "x.sig"], "add --output json|csv|html"),
    ],
)
async def test_wrong_use_is_told(sendonce: Sendonce, given: list[str], complaint: str) -> None:
    ran = await sendonce("proof", *given)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err


async def test_there_is_no_proof_of_a_campaign_that_nobody_knows(sendonce: Sendonce) -> None:
    ran = await sendonce("proof", "nowhere")
    assert ran.code == 4
