"""Reports over HTTP: who is let in, what each is answered, and what a flood comes to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from psycopg.conninfo import make_conninfo
from tests.integration.gateway.receipts.conftest import place_of
from tests.unit.gateway.receipts_senders import SENDERS, Mailgun, Resend, Sender, SendGrid, Sent, Ses, Told, Twilio

from sendonce_gateway.receipts.desk import AT_ONCE, LARGEST
from sendonce_store.receipts import Kind

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World
    from tests.integration.gateway.conftest import Answer, Gate, Opening


class Desk:
    """A gateway with a folder of secrets, and what providers send it."""

    def __init__(self, gate: Gate, folder: Path) -> None:
        self.gate = gate
        self.folder = folder

    def set_up(self, sender: Sender, namespace: str = "default") -> Sender:
        """Write the sender's secrets into the folder."""
        sender.path = f"/receipts/{namespace}/{sender.kind}/far-end"
        for name, values in sender.secrets.items():
            (self.folder / f"{namespace}.{sender.kind}.far-end.{name}").write_text("\n".join(values) + "\n")
        return sender

    async def take(self, sender: Sender, told: Told, at: datetime | None = None) -> Answer:
        return await self.post(sender.path, sender.send(told, at or datetime.now(UTC)))

    async def post(self, path: str, sent: Sent) -> Answer:
        path += f"?{sent.query}" if sent.query else ""
        return await self.gate.post(path, sent.body, headers=sent.headers)


@pytest_asyncio.fixture
async def desk(open_gate: Opening, tmp_path: Path) -> Desk:
    """Return a running gateway whose folder of secrets is empty."""
    return Desk(await open_gate(receipts_dir=tmp_path), tmp_path)


@pytest_asyncio.fixture
async def campaign(world: World) -> Campaign:
    """Return a campaign of 20, all of them sent."""
    made = await world.campaign(20)
    batch = await made.claim()
    await made.begin(batch, range(1, 21))
    for no in range(1, 21):
        await made.end(batch, no, "sent", message_id=f"m-{no}")
    await made.release(batch)
    return made


@pytest.fixture
def all_logs(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Yield everything that is logged."""
    with caplog.at_level(logging.DEBUG):
        yield caplog


async def test_every_provider_is_heard(desk: Desk, campaign: Campaign, all_logs: pytest.LogCaptureFixture) -> None:
    rows = iter(await campaign.rows())
    senders = [make() for make in SENDERS]
    values = {(sender.kind, sender.keyed_by): sender.values for sender in senders}
    for sender in senders:
        sender.values = values[sender.kind, sender.keyed_by]
        desk.set_up(sender)
    for sender in (one for one in senders if one.kind != "ses"):
        told = Told(sender.kinds[0] if Kind.DELIVERED not in sender.kinds else Kind.DELIVERED, at=datetime.now(UTC))
        row = next(rows)
        told = replace(told, place=place_of(row), no=f"event-{row['no']}", message=f"m-{row['no']}")
        answer = await desk.take(sender, told)
        assert (answer.status, answer.text) == (200, "ok"), sender.kind
        [now] = [one for one in await campaign.rows() if one["no"] == row["no"]]
        assert now["receipt"] == (2 if sender.names_message else 0)
    metrics = await desk.gate.metrics()
    assert 'sendonce_gateway_receipts_total{kind="delivered",provider="sendgrid",result="marked"} 1.0' in metrics
    assert 'sendonce_gateway_receipts_total{kind="blocked",provider="line",result="noted"} 1.0' in metrics
    assert "ada@example.com" not in all_logs.text


async def test_who_is_not_set_up_is_not_let_in(desk: Desk) -> None:
    sender = desk.set_up(SendGrid())
    for path in (
        "/receipts/default/sendgrid/another",
        "/receipts/bank/sendgrid/far-end",
        "/receipts/_/sendgrid/far-end",
        "/receipts/default/mailgun/far-end",
        "/receipts/default/unheard-of/far-end",
        "/receipts/default/sendgrid/..",
        "/receipts/default/sendgrid",
    ):
        answer = await desk.post(path, sender.send(Told()))
        assert answer.status == 404, path
    assert (await desk.gate.get(sender.path)).status == 405


async def test_a_forgery_is_refused_and_counted_and_an_old_report_told_why(
    desk: Desk, campaign: Campaign, all_logs: pytest.LogCaptureFixture
) -> None:
    sender = desk.set_up(SendGrid())
    told = Told(Kind.BOUNCED, place=place_of(await campaign.row()))
    sent = sender.send(told, datetime.now(UTC))
    unsigned = await desk.post(sender.path, replace(sent, headers={}))
    forged = await desk.post(sender.path, replace(sent, body=sent.body.replace(b"event-1", b"event-2")))
    stranger = await desk.post(sender.path, SendGrid().send(told, datetime.now(UTC)))
    old = await desk.take(sender, told, datetime.now(UTC) - timedelta(days=2))
    broken = await desk.post(sender.path, sender.sign("no event", datetime.now(UTC)))
    assert [one.status for one in (unsigned, forged, stranger, old, broken)] == [401, 403, 403, 403, 400]
    assert '"too_old"' in old.text
    assert "at most 90000 are taken" in old.text
    assert await campaign.query("SELECT address FROM sendonce.suppressions") == []
    metrics = await desk.gate.metrics()
    for why, count in (("no_signature", 1), ("bad_signature", 2), ("too_old", 1), ("malformed", 1)):
        line = f'sendonce_gateway_receipts_refused_total{{provider="sendgrid",why="{why}"}} {count}.0'
        assert line in metrics
    assert "example.com" not in all_logs.text


async def test_a_changed_secret_is_good_without_a_restart(desk: Desk, campaign: Campaign, world: World) -> None:
    sender = desk.set_up(Resend())
    told = Told(place=place_of(await campaign.row()))
    assert (await desk.take(sender, told)).status == 200
    old, new = sender.values[0], sender.make_secret()
    sender.values = [new, old]
    assert (await desk.take(sender, told)).status == 403
    desk.set_up(sender)

    async def good() -> bool:
        return (await desk.take(sender, told)).status == 200

    await world.eventually(good)
    sender.values = [old, new]
    assert (await desk.take(sender, told)).status == 200


async def test_a_secret_that_is_none_is_ours_to_mend_and_nothing_is_lost(desk: Desk) -> None:
    sender = desk.set_up(Resend())
    (desk.folder / "default.resend.far-end.secret").write_text("whsec_no base64")
    answer = await desk.take(sender, Told())
    assert (answer.status, answer.headers["Retry-After"]) == (503, "60")
    assert "base64" not in answer.text


async def test_what_is_about_nothing_of_ours_is_taken_and_forgotten(
    desk: Desk, campaign: Campaign, all_logs: pytest.LogCaptureFixture
) -> None:
    sender = desk.set_up(SendGrid())
    for no in range(30):
        assert (await desk.take(sender, Told(Kind.BOUNCED, place="17-3-1f2e3d4c", no=f"e{no}"))).status == 200
    assert (
        await campaign.query("SELECT event_id FROM sendonce.receipts UNION SELECT address FROM sendonce.suppressions")
        == []
    )
    assert 'kind="bounced",provider="sendgrid",result="unknown"} 30.0' in await desk.gate.metrics()
    lines = [record.getMessage() for record in all_logs.records if "nothing of ours" in record.getMessage()]
    assert 1 <= len(lines) <= 8
    assert "ada@example.com" not in all_logs.text


async def test_one_token_of_mailgun_brings_one_event(desk: Desk, campaign: Campaign) -> None:
    sender = desk.set_up(Mailgun())
    row = await campaign.row()
    sent = sender.send(Told(place=place_of(row)), datetime.now(UTC))
    forged = replace(sent, body=sent.body.replace(b'"event":"delivered"', b'"event":"complained"'))
    assert forged != sent
    assert [(await desk.post(sender.path, one)).status for one in (sent, forged)] == [200, 200]
    assert await campaign.query("SELECT address FROM sendonce.opt_outs") == []
    assert (await campaign.row())["receipt"] == 2


async def test_the_public_address_is_what_twilio_signed(desk: Desk, campaign: Campaign) -> None:
    sender = desk.set_up(Twilio())
    told = Told(place=place_of(await campaign.row()))
    assert (await desk.take(sender, told)).status == 200
    sender.path = sender.path.replace("far-end", "far%2Dend")  # the same name, and not what was signed
    signed = sender.send(told)
    assert (await desk.post(sender.path.replace("%2D", "-"), signed)).status == 403


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_large_is_not_read(desk: Desk, chunked: bool) -> None:
    sender = desk.set_up(SendGrid())
    headers = dict(sender.send(Told()).headers)
    body = b"x" * (LARGEST + 1)

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    answer = await desk.gate.post(sender.path, pieces() if chunked else BytesIO(body), headers=headers)
    assert answer.status == 413


async def test_a_flood_at_one_address_leaves_the_others_alone(open_gate: Opening, tmp_path: Path) -> None:
    desk = Desk(await open_gate(receipts_dir=tmp_path, receipts_per_second=5.0), tmp_path)
    flooded, other = desk.set_up(SendGrid()), desk.set_up(Resend())
    answers = [await desk.post(flooded.path, replace(flooded.send(Told()), headers={})) for _ in range(60)]
    statuses = [answer.status for answer in answers]
    assert statuses[:10] == [401] * 10
    assert statuses.count(429) >= 25
    assert {answer.headers["Retry-After"] for answer in answers if answer.status == 429} == {"1"}
    assert (await desk.take(other, Told())).status == 200


async def test_no_more_bodies_are_in_memory_than_there_is_room_for(desk: Desk, world: World) -> None:
    sender = desk.set_up(SendGrid())

    async def busy() -> bool:
        answer = await desk.take(sender, Told())
        return answer.status == 503 and '"busy"' in answer.text

    async def free() -> bool:
        return (await desk.take(sender, Told())).status == 200

    port = int(desk.gate.url.rpartition(":")[2])
    head = f"POST {sender.path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n".encode()
    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            stack.callback(writer.close)
            writer.write(head)
            await writer.drain()
        await world.eventually(busy)
    await world.eventually(free)


async def test_while_the_store_is_away_the_provider_is_asked_to_send_it_again(
    open_gate: Opening, tmp_path: Path, dsn: str
) -> None:
    away = make_conninfo(dsn, host="127.0.0.1", port=1)
    desk = Desk(await open_gate(receipts_dir=tmp_path, dsn=away, store_wait=0.2), tmp_path)
    sender = desk.set_up(SendGrid())
    answer = await desk.take(sender, Told())
    assert answer.status == 503
    assert int(answer.headers["Retry-After"]) > 0
    forged = await desk.post(sender.path, SendGrid().send(Told(), datetime.now(UTC)))
    assert forged.status == 403  # which needs no store


async def test_a_report_for_a_topic_that_is_not_ours_asks_nobody_for_a_certificate(desk: Desk) -> None:
    sender = desk.set_up(Ses())
    sender.values = ["arn:aws:sns:eu-west-1:210987654321:mail-events"]
    answer = await desk.take(sender, Told())
    assert (answer.status, "foreign_topic" in answer.text) == (403, True)


async def test_many_events_of_one_request_are_taken_together(desk: Desk, campaign: Campaign) -> None:
    sender = desk.set_up(SendGrid())
    rows: list[Any] = await campaign.rows()
    events = [event for row in rows for event in sender.event(Told(place=place_of(row), no=f"event-{row['no']}")) * 15]
    answer = await desk.post(sender.path, sender.sign(events, datetime.now(UTC)))
    assert answer.status == 200
    assert {row["receipt"] for row in await campaign.rows()} == {2}
    metrics = await desk.gate.metrics()
    assert 'provider="sendgrid",result="marked"} 20.0' in metrics
    assert 'provider="sendgrid",result="repeated"} 280.0' in metrics
