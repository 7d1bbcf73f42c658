"""`sendonce status`, `recipients`, `deadletters`, `rejects` and `show`: what people read."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sendonce_store import consent, retention
from sendonce_store.connection import Connection
from sendonce_store.consent import Suppression
from sendonce_store.receipts import Kind, Receipt, Reporter, record
from sendonce_store.recipients import Recipient, Rejected

Person = Callable[..., Recipient]
Sendonce = Callable[..., Awaitable[Any]]


@pytest.fixture
def people(person: Person) -> list[Recipient]:
    return [person(no, f"N{no}", ref=f"c{no}", Email=f"n{no}@example.com") for no in range(2, 12)]


@pytest.fixture
def mixed(fates: Any) -> dict[str, Any]:
    return {"n2@example.com": fates.refused, "n3@example.com": fates.refused, "n4@example.com": fates.lost}


async def test_status_lists_campaigns_the_newest_first(
    sendonce: Sendonce, sow: Any, people: list[Recipient], mixed: Any, document: Any
) -> None:
    sown = await sow(people)
    await sown.send(mixed)
    await sow([], document=document("autumn"))
    ran = await sendonce("status")
    assert ran.code == 0
    head, first, second = (line.split() for line in ran.out.splitlines())
    assert head == ["CAMPAIGN", "STATUS", "TOTAL", "SENT", "FAILED", "UNCERTAIN", "PENDING", "CREATED"]
    assert first[0] == "autumn"
    assert second[:7] == ["spring", "SomeUndelivered", "10", "7", "2", "1", "0"]


async def test_status_as_json_and_as_yaml_say_the_same(
    sendonce: Sendonce, sow: Any, people: list[Recipient], mixed: Any
) -> None:
    await (await sow(people)).send(mixed)
    found = (await sendonce("status", "spring", "-o", "json")).data
    assert found["deliveries"] == {
        "total": 10, "pending": 0, "sending": 0, "sent": 7, "failed": 2, "uncertain": 1, "suppressed": 0, "expired": 0,
        "cancelled": 0,
    }  # fmt: skip
    assert (found["reason"], found["stalled"], found["receipts"]) == (
        "SomeUndelivered",
        False,
        {"delivered": 0, "bounced": 0},
    )
    assert found["topErrors"][0] == {
        "state": "failed", "channel": "Email", "reason": "permanent", "code": "5.1.1", "count": 2,
        "message": "550 5.1.1 no such user",
    }  # fmt: skip
    assert (await sendonce("status", "spring", "-o", "yaml")).yaml == found


async def test_what_providers_reported_later_is_in_status_and_show(
    sendonce: Sendonce, sow: Any, people: list[Recipient], conn: Connection
) -> None:
    sown = await sow(people)
    await sown.send()
    (provider,) = await (await conn.execute("SELECT name FROM sendonce.providers")).fetchall()
    rows = await (await conn.execute("SELECT batch_id, no, key::text FROM sendonce.deliveries ORDER BY no")).fetchall()
    reporter = Reporter("default", "ses", provider["name"])
    told = [
        Receipt(kind, f"e{no}", delivery_id=f"{row['batch_id']}-{row['no']}-{row['key'][:8]}", detail="550 unknown")
        for no, (row, kind) in enumerate(zip(rows, (Kind.DELIVERED, Kind.BOUNCED), strict=False))
    ]
    await record(conn, reporter, told)
    assert (await sendonce("status", "spring", "-o", "json")).data["receipts"] == {"delivered": 1, "bounced": 1}
    assert "reported  1 delivered, 1 bounced" in (await sendonce("status", "spring")).out
    histories = []
    for line in (rows[0]["no"], rows[1]["no"]):
        (shown,) = (await sendonce("show", "spring", f"line:{line + 1}", "-o", "json")).data
        history = shown["deliveries"][0]["history"]
        histories.append([(step["outcome"], step["told"], step["message"]) for step in history])
    outcomes = [[outcome for outcome, *_ in one] for one in histories]
    assert outcomes == [["accepted", "delivered"], ["accepted", "bounced"]]
    assert histories[1][1][1:] == ("reported as bounced for good", "550 unknown")


async def test_addresses_in_errors_are_masked_in_status(
    sendonce: Sendonce, sow: Any, people: list[Recipient], fates: Any
) -> None:
    quoted = {**fates.refused, "error": "550 <mia.long@example.com> unknown"}
    await (await sow(people)).send({"n2@example.com": quoted})
    ran = await sendonce("status", "spring")
    assert "550 <m***@example.com> unknown" in ran.out
    assert "mia.long" not in ran.out


async def test_status_shows_workers_and_what_waits(
    sendonce: Sendonce, sow: Any, people: list[Recipient], fates: Any
) -> None:
    sown = await sow(people)
    await sown.register_worker()
    await sown.send({"n2@example.com": fates.later})
    ran = await sendonce("status", "spring")
    assert "waiting   1 deliveries, the first until" in ran.out
    assert any(line.split()[:2] == [sown.worker, "running"] for line in ran.out.splitlines())


async def test_a_campaign_that_is_not_there_ends_with_4(sendonce: Sendonce) -> None:
    for command in ("status", "recipients", "deadletters", "rejects", "retry", "promote", "resume", "cancel"):
        ran = await sendonce(command, "nowhere")
        assert (command, ran.code) == (command, 4)
        assert ran.err.startswith("error: there is no campaign nowhere in namespace default")


async def test_a_store_that_has_not_been_made_is_not_made_by_looking(
    sendonce: Sendonce, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.delenv("SENDONCE_DATABASE")
    ran = await sendonce("status")
    assert ran.code == 4
    assert "`sendonce run` makes one" in ran.err
    assert not (tmp_path / "data").exists()


async def test_deliveries_are_listed_with_filters_and_a_place_to_go_on(
    sendonce: Sendonce, sow: Any, people: list[Recipient], mixed: Any
) -> None:
    await (await sow(people)).send(mixed)
    failed = (await sendonce("recipients", "spring", "--state", "failed", "-o", "json")).data
    assert [(one["line"], one["ref"], one["address"], one["code"]) for one in failed] == [
        (2, "c2", "n2@example.com", "5.1.1"),
        (3, "c3", "n3@example.com", "5.1.1"),
    ]
    first = (await sendonce("recipients", "spring", "--limit", "4", "-o", "json")).data
    rest = (await sendonce("recipients", "spring", "--after", first[-1]["place"], "-o", "json")).data
    assert [one["line"] for one in [*first, *rest]] == list(range(2, 12))
    found = (await sendonce("recipients", "spring", "--search", "C11", "-o", "json")).data
    assert [one["line"] for one in found] == [11]
    ran = await sendonce("recipients", "spring", "--limit", "4")
    assert f"there may be more: --after {first[-1]['place']}" in ran.out


async def test_people_without_an_address_can_be_listed(sendonce: Sendonce, sow: Any, person: Person) -> None:
    await sow([person(2, "A", ref="a")])
    assert (await sendonce("recipients", "spring", "--state", "unreachable", "-o", "json")).data == [
        {"line": 2, "ref": "a"}
    ]


async def test_dead_letters_are_counted_by_reason_and_code_or_listed(
    sendonce: Sendonce, sow: Any, people: list[Recipient], mixed: Any
) -> None:
    await (await sow(people)).send(mixed)
    groups = (await sendonce("deadletters", "spring", "-o", "json")).data
    assert [(one["state"], one["reason"], one["code"], one["count"]) for one in groups] == [
        ("failed", "permanent", "5.1.1", 2),
        ("uncertain", "unknown_outcome", "timeout", 1),
    ]
    listed = (await sendonce("deadletters", "spring", "--list", "--reason", "Permanent", "-o", "json")).data
    assert [one["line"] for one in listed] == [2, 3]
    ran = await sendonce("deadletters", "spring")
    assert "550 5.1.1 no such user" in ran.out
    assert "`sendonce retry spring`" in ran.out
    assert "`sendonce resolve spring --as sent|failed|resend`" in ran.out


async def test_refused_rows_are_listed_with_line_field_and_reason(sendonce: Sendonce, sow: Any) -> None:
    await sow([], [Rejected(7, "email", "is bad", "mia(at)example.com"), Rejected(9, "row", "is broken", "x")])
    found = (await sendonce("rejects", "spring", "-o", "json")).data
    assert found[0] == {"line": 7, "field": "email", "reason": "is bad", "excerpt": "mia(at)example.com"}
    assert [one["line"] for one in (await sendonce("rejects", "spring", "--after", "7", "-o", "json")).data] == [9]


async def test_show_tells_each_attempt_and_proves_the_content(
    sendonce: Sendonce, sow: Any, people: list[Recipient], mixed: Any
) -> None:
    await (await sow(people)).send(mixed)
    (found,) = (await sendonce("show", "spring", "N2@example.com", "-o", "json")).data
    (delivery,) = found["deliveries"]
    assert (found["line"], found["ref"], delivery["state"], delivery["reason"]) == (2, "c2", "failed", "permanent")
    (attempt,) = delivery["history"]
    assert (attempt["seq"], attempt["outcome"], attempt["message"]) == (1, "permanent", "550 5.1.1 no such user")
    assert delivery["content"]["verified"] is True
    assert delivery["content"]["parts"] == {
        "from": "news@example.com", "subject": "Hello N2", "text": "Dear N2, news!",
    }  # fmt: skip
    ran = await sendonce("show", "spring", "c5")
    assert ran.code == 0
    assert "Email to n5@example.com over email: sent" in ran.out
    assert "message id m-1" in ran.out
    assert "content verified" in ran.out


async def test_show_warns_when_the_content_is_not_the_one_that_went_out(
    sendonce: Sendonce, sow: Any, people: list[Recipient], conn: Connection
) -> None:
    await (await sow(people)).send()
    await conn.execute("""UPDATE sendonce.recipients SET variables = '{"name": "somebody else"}' WHERE no = 5""")
    (found,) = (await sendonce("show", "spring", "line:5", "-o", "json")).data
    content = found["deliveries"][0]["content"]
    assert (content["verified"], content["verdict"]) == (False, "content differs")
    assert "NOT what was handed off" in (await sendonce("show", "spring", "line:5")).out


async def test_show_tells_what_would_be_sent_and_what_keeps_it_back(
    sendonce: Sendonce, sow: Any, people: list[Recipient], conn: Connection
) -> None:
    await sow(people)
    await consent.suppress(conn, "default", [Suppression("Email", "n6@example.com", "complained")], "feedback loop")
    ran = await sendonce("show", "spring", "n6@example.com")
    assert "not handed off so far" in ran.out
    assert "this address is suppressed: complained" in ran.out
    assert "from feedback loop" in ran.out
    assert "this is what would be sent" in ran.out


async def test_show_explains_why_somebody_is_no_recipient(
    sendonce: Sendonce, sow: Any, people: list[Recipient], conn: Connection
) -> None:
    sown = await sow(people, [Rejected(50, "email", "is bad", "mia(at)example.com")])
    ran = await sendonce("show", "spring", "mia(at)example.com")
    assert ran.code == 4
    assert "the row was refused: line 50: email: is bad" in ran.err
    ran = await sendonce("show", "spring", "tom@example.com")
    assert (ran.code, "tom@example.com is no recipient of spring" in ran.err) == (4, True)
    await sown.send()
    await retention.delete_data(conn, sown.id)
    ran = await sendonce("show", "spring", "n5@example.com")
    assert (ran.code, "data of spring was deleted" in ran.err) == (4, True)
    kept = (await sendonce("status", "spring", "-o", "json")).data
    assert (kept["deliveries"]["sent"], kept["recipients"]["total"]) == (10, 10)


async def test_another_namespace_is_another_world(sendonce: Sendonce, sow: Any, people: list[Recipient]) -> None:
    await sow(people)
    assert (await sendonce("status", "spring", "-n", "other")).code == 4
    assert (await sendonce("status", "-n", "other", "-o", "json")).data == []
