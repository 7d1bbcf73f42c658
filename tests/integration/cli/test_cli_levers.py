"""`sendonce retry`, `resolve`, `promote`, `resume`, `suspend`, `close`, `cancel`, `purge`: what people order."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sendonce_store import campaigns, people
from sendonce_store.connection import Connection
from sendonce_store.recipients import Recipient

Person = Callable[..., Recipient]
Sendonce = Callable[..., Awaitable[Any]]


@pytest.fixture
def sown_people(person: Person) -> list[Recipient]:
    return [person(no, f"N{no}", Email=f"n{no}@example.com") for no in range(2, 8)]


async def states(conn: Connection, campaign_id: int) -> dict[int, str]:
    found = [await people.deliveries_of(conn, campaign_id, line) for line in range(2, 8)]
    return {one.line: one.state for (one,) in found}


async def test_retry_opens_only_what_matches(
    sendonce: Sendonce, sow: Any, sown_people: list[Recipient], fates: Any, conn: Connection
) -> None:
    sown = await sow(sown_people)
    full = {**fates.refused, "code": "4.2.2", "reason": "retries_exhausted"}
    await sown.send({"n2@example.com": fates.refused, "n3@example.com": full, "n4@example.com": fates.lost})
    ran = await sendonce("retry", "spring", "--reason", "RetriesExhausted", "--code", "4.2.2", "-o", "json")
    assert ran.code == 0
    assert (ran.data["matched"], ran.data["changed"]) == (1, 1)
    found = await states(conn, sown.id)
    assert (found[2], found[3], found[4]) == ("failed", "pending", "uncertain")


async def test_retry_and_resolve_take_the_people_named_alone(
    sendonce: Sendonce, sow: Any, person: Person, fates: Any, conn: Connection
) -> None:
    named = [person(no, f"N{no}", ref=f"c{no}", Email=f"n{no}@example.com") for no in range(2, 8)]
    sown = await sow(named)
    await sown.send({f"n{no}@example.com": fates.refused if no < 5 else fates.lost for no in range(2, 7)})
    ran = await sendonce(
        "retry", "spring", "--recipient", "c2", "--recipient", "line:3", "--recipient", "x", "-o", "json"
    )
    assert (ran.data["matched"], ran.data["changed"]) == (2, 2)
    assert ran.data["message"].endswith("1 of 3 recipients named are not in the campaign")
    ran = await sendonce("resolve", "spring", "--as", "sent", "--recipient", "c5", "-o", "json")
    assert ran.data["changed"] == 1
    found = await states(conn, sown.id)
    assert [found[no] for no in range(2, 7)] == ["pending", "pending", "failed", "sent", "uncertain"]


async def test_the_same_name_again_changes_nothing(
    sendonce: Sendonce, sow: Any, sown_people: list[Recipient], fates: Any
) -> None:
    sown = await sow(sown_people)
    await sown.send({"n2@example.com": fates.refused})
    assert (await sendonce("retry", "spring", "--name", "once", "-o", "json")).data["changed"] == 1
    await sown.send({"n2@example.com": fates.refused})
    again = await sendonce("retry", "spring", "--name", "once", "-o", "json")
    assert (again.data["changed"], again.data["again"]) == (1, True)
    assert "nothing was done now" in (await sendonce("retry", "spring", "--name", "once")).out
    assert (await sendonce("retry", "spring", "-o", "json")).data["again"] is False


@pytest.mark.parametrize("what", ["sent", "failed"])
async def test_resolve_says_what_became_of_uncertain_deliveries(
    sendonce: Sendonce, sow: Any, sown_people: list[Recipient], fates: Any, conn: Connection, what: str
) -> None:
    sown = await sow(sown_people)
    await sown.send({"n2@example.com": fates.lost})
    ran = await sendonce("resolve", "spring", "--as", what, "-o", "json")
    assert (ran.code, ran.data["changed"]) == (0, 1)
    assert (await states(conn, sown.id))[2] == what


async def test_resend_states_its_risk_and_is_not_done_unasked(
    sendonce: Sendonce, sow: Any, sown_people: list[Recipient], fates: Any, conn: Connection
) -> None:
    sown = await sow(sown_people)
    await sown.send({"n2@example.com": fates.lost})
    ran = await sendonce("resolve", "spring", "--as", "resend")
    assert ran.code == 2
    assert "can reach a person twice" in ran.err
    assert "--yes" in ran.err
    assert (await states(conn, sown.id))[2] == "uncertain"
    assert (await sendonce("resolve", "spring", "--as", "resend", "--yes")).code == 0
    assert (await states(conn, sown.id))[2] == "pending"
    (delivery,) = await people.deliveries_of(conn, sown.id, 2)
    assert delivery.next_attempt_at is not None
    assert delivery.last_attempt_at is not None
    # not before an attempt that may be under way has ended: time-out and margin
    assert (delivery.next_attempt_at - delivery.last_attempt_at).total_seconds() >= 30


async def test_close_is_for_a_stream_and_may_be_said_again(sendonce: Sendonce, sow: Any, conn: Connection) -> None:
    sown = await sow([])
    assert "nothing to close" in (await sendonce("close", "spring")).out
    await conn.execute("UPDATE sendonce.campaigns SET stream = true, import_state = 'running'")
    await conn.execute("INSERT INTO sendonce.streams VALUES (%s, 'default')", [sown.id])
    for _ in range(2):
        assert (await sendonce("close", "spring")).out == "spring: closed\n"
    assert (await sendonce("status", "spring", "-o", "json")).data["stream"] == {"closed": True}


async def test_suspend_and_resume(sendonce: Sendonce, sow: Any, sown_people: list[Recipient], conn: Connection) -> None:
    sown = await sow(sown_people)
    assert (await sendonce("suspend", "spring")).out == "spring: suspended\n"
    assert (await sendonce("status", "spring", "-o", "json")).data["reason"] == "Suspended"
    await sown.send()
    assert set((await states(conn, sown.id)).values()) == {"pending"}
    assert (await sendonce("resume", "spring")).out == "spring: resumed\n"
    await sown.send()
    assert set((await states(conn, sown.id)).values()) == {"sent"}
    assert "it has ended: AllSent" in (await sendonce("suspend", "spring")).out


async def test_resume_lifts_a_halt(
    sendonce: Sendonce, sow: Any, sown_people: list[Recipient], conn: Connection
) -> None:
    sown = await sow(sown_people)
    await campaigns.halt(conn, sown.id, "CredentialsRejected", "535 no")
    found = (await sendonce("status", "spring", "-o", "json")).data
    assert (found["reason"], found["message"], found["stalled"]) == ("CredentialsRejected", "535 no", True)
    assert (await sendonce("resume", "spring")).out == "spring: resumed\n"
    assert (await sendonce("resume", "spring")).out == "spring: nothing to resume: the campaign is not stopped\n"
    await sown.send()
    assert set((await states(conn, sown.id)).values()) == {"sent"}


async def test_cancel_ends_what_has_not_been_handed_off_and_retry_opens_it_again(
    sendonce: Sendonce, sow: Any, sown_people: list[Recipient], fates: Any, conn: Connection
) -> None:
    sown = await sow(sown_people)
    assert (await sendonce("cancel", "spring", "-o", "json")).data["changed"] == 6
    await sown.send()
    assert (await sendonce("status", "spring", "-o", "json")).data["reason"] == "Cancelled"
    assert (await sendonce("retry", "spring", "--state", "cancelled", "--limit", "2", "-o", "json")).data[
        "changed"
    ] == 2
    await sown.send()
    assert sorted((await states(conn, sown.id)).values()) == ["cancelled"] * 4 + ["sent"] * 2


async def test_promote_lets_the_rest_follow_the_canary(
    sendonce: Sendonce, sow: Any, sown_people: list[Recipient], document: Any, conn: Connection
) -> None:
    canary = {"percent": 1, "minRecipients": 2, "observeSeconds": 0}
    sown = await sow(sown_people, document=document(rollout={"canary": canary}))
    assert (await sendonce("promote", "spring")).out == "spring: nothing to promote: the rollout's stage is importing\n"
    await sown.send()
    await sown.send()
    found = (await sendonce("status", "spring", "-o", "json")).data
    assert (found["reason"], found["deliveries"]["sent"]) == ("AwaitingPromotion", 2)
    assert (await sendonce("promote", "spring")).out == "spring: promoted\n"
    await sown.send()
    assert set((await states(conn, sown.id)).values()) == {"sent"}


async def test_purge_deletes_recipients_data_and_keeps_the_counts(
    sendonce: Sendonce, sow: Any, sown_people: list[Recipient], conn: Connection
) -> None:
    sown = await sow(sown_people)
    ran = await sendonce("purge", "spring", "--yes")
    assert (ran.code, "is not finished" in ran.err) == (2, True)
    await sown.send()
    ran = await sendonce("purge", "spring")
    assert (ran.code, "--yes" in ran.err) == (2, True)
    assert (await sendonce("purge", "--due", "-o", "json")).data == []
    await conn.execute("UPDATE sendonce.campaigns SET completed_at = now() - interval '91 days'")
    (done,) = (await sendonce("purge", "--due", "-o", "json")).data
    assert (done["sendKey"], done["deliveries"], done["recipients"]) == ("spring", 6, 6)
    ran = await sendonce("retry", "spring")
    assert (ran.code, "recipients' data was deleted" in ran.err) == (2, True)


async def test_migrate_makes_the_schema_once(sendonce: Sendonce, empty_dsn: str) -> None:
    first = (await sendonce("migrate", "--database", empty_dsn, "-o", "json")).data
    assert first["applied"] == first["version"]
    assert (await sendonce("migrate", "--database", empty_dsn, "-o", "json")).data["applied"] == 0
