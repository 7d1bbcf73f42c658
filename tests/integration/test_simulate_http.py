"""The simulated far end over HTTP: what it answers, and what its ledger says of it."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from sendonce_cli.simulate import (
    Behaviour,
    Cause,
    ChanceBy,
    Chances,
    Ledger,
    Outcome,
    Pace,
    SettingsError,
    Simulator,
    SimulatorSettings,
    Style,
    serve,
)


class Sender:
    """An HTTP client of one far end."""

    def __init__(self, far_end: Simulator, client: httpx.AsyncClient) -> None:
        self.far_end = far_end
        self.client = client

    async def send(self, to: str, key: str | None = None, text: str = "hello", **options: Any) -> httpx.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        return await self.client.post("/send", json={"to": to, "text": text}, headers=headers, **options)

    def outcomes(self) -> list[Outcome]:
        return [row.outcome for row in self.far_end.ledger().rows]


@asynccontextmanager
async def running(tmp_path: Path, **settings: Any) -> AsyncIterator[Sender]:
    settings.setdefault("ledger", tmp_path / "ledger.ndjson")
    async with serve(SimulatorSettings(**settings)) as far_end:
        url = f"http://127.0.0.1:{far_end.http_port}"
        async with httpx.AsyncClient(base_url=url, timeout=10) as client:
            yield Sender(far_end, client)


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


def brief(**chances: float) -> Behaviour:
    return Behaviour(chances=Chances(**chances), hang_seconds=0.2)


async def test_an_acceptance_is_answered_with_an_id_and_recorded_with_all_that_came(tmp_path: Path) -> None:
    async with running(tmp_path) as sender:
        answer = await sender.send("mia@example.com", "k1")
        (row,) = sender.far_end.ledger().rows
    assert answer.status_code == 200
    assert answer.json() == {"id": row.message_id}
    assert (row.outcome, row.cause, row.answer_lost) == (Outcome.ACCEPTED, Cause.NORMAL, False)
    assert (row.protocol, row.path, row.key, row.to) == ("http", "/send", "k1", "mia@example.com")
    assert (row.status, row.attempt) == (200, 1)
    assert row.payload_sha256 == hashlib.sha256(answer.request.content).hexdigest()


async def test_the_acceptance_is_in_the_ledger_before_its_answer_comes(tmp_path: Path) -> None:
    async with running(tmp_path) as sender:

        async def one(number: int) -> bool:
            await sender.send(f"u{number}@example.com", f"k{number}")
            return f"k{number}" in sender.far_end.ledger().accepted_keys()

        assert all(await asyncio.gather(*map(one, range(50))))


async def test_a_repeat_inside_the_window_gets_the_first_answer_and_is_no_acceptance(tmp_path: Path) -> None:
    async with running(tmp_path) as sender:
        first = await sender.send("mia@example.com", "k1")
        second = await sender.send("mia@example.com", "k1")
        ledger = sender.far_end.ledger()
    assert second.json() == first.json()
    assert [row.outcome for row in ledger.rows] == [Outcome.ACCEPTED, Outcome.REPEAT]
    assert ledger.accepted() == {("mia@example.com", "http", "/send"): 1}
    assert not ledger.duplicates()
    assert not ledger.duplicate_keys()


@pytest.mark.parametrize("window", [0.0, 1e-7])
async def test_past_the_window_or_without_one_a_repeat_is_accepted_again(tmp_path: Path, window: float) -> None:
    async with running(tmp_path, behaviour=Behaviour(key_window=window)) as sender:
        for _ in range(2):
            await sender.send("mia@example.com", "k1")
        ledger = sender.far_end.ledger()
    assert ledger.duplicates() == {("mia@example.com", "http", "/send"): 2}
    assert ledger.duplicate_keys() == {"k1": 2}


async def test_the_same_key_on_another_path_is_another_key(tmp_path: Path) -> None:
    async with running(tmp_path) as sender:
        for path in ("/sms", "/email"):
            await sender.client.post(path, json={"to": "x"}, headers={"Idempotency-Key": "k1"})
        assert sender.outcomes() == [Outcome.ACCEPTED, Outcome.ACCEPTED]
        assert not sender.far_end.ledger().duplicates()


@pytest.mark.parametrize("status", [409, 422])
async def test_a_known_key_with_another_payload_is_a_conflict(tmp_path: Path, status: int) -> None:
    async with running(tmp_path, conflict_status=status) as sender:
        await sender.send("mia@example.com", "k1", "one")
        answer = await sender.send("mia@example.com", "k1", "two")
        row = sender.far_end.ledger().rows[-1]
    assert answer.status_code == row.status == status
    assert (row.outcome, row.cause) == (Outcome.CONFLICT, Cause.OTHER_PAYLOAD)


@pytest.mark.parametrize(("style", "status"), [(Style.PLAIN, 409), (Style.LINE, 429)])
async def test_a_key_in_use_is_a_conflict_and_uses_up_no_attempt(tmp_path: Path, style: Style, status: int) -> None:
    async with running(tmp_path, style=style, behaviour=brief()) as sender:
        answers = await asyncio.gather(*(sender.send("hang2+mia@example.com", "k1") for _ in range(4)))
        ledger = sender.far_end.ledger()
        await sender.send("hang2+mia@example.com", "k1")
        repeat = sender.far_end.ledger().rows[-1]
    assert sorted(answer.status_code for answer in answers) == [200, status, status, status]
    assert ledger.outcomes() == {Outcome.CONFLICT: 3, Outcome.ACCEPTED: 1}
    assert {row.cause for row in ledger.with_outcome(Outcome.CONFLICT)} == {Cause.KEY_IN_USE}
    assert (repeat.outcome, repeat.cause) == (Outcome.REPEAT, Cause.OVERRIDE)
    assert repeat.ts - repeat.arrived >= 0.2


async def test_a_throttled_request_does_not_free_a_key_that_another_one_uses(tmp_path: Path) -> None:
    behaviour = Behaviour(hang_seconds=0.5)
    async with running(tmp_path, behaviour=behaviour, overrides=(("*", "hang9"),)) as sender:
        both = [asyncio.create_task(sender.send("mia@example.com", "k1")) for _ in range(2)]
        (refused,), (hanging,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        assert refused.result().status_code == 409
        await sender.far_end.control({"throttle_seconds": 60})
        assert (await sender.send("mia@example.com", "k1")).status_code == 429
        await sender.far_end.control({"throttle_seconds": 0})
        assert (await sender.send("mia@example.com", "k1")).status_code == 409
        assert (await hanging).status_code == 200
        assert sender.far_end.ledger().accepted_keys() == {"k1": 1}


async def test_line_style_says_that_a_repeat_was_accepted_by_409_and_its_request_id(tmp_path: Path) -> None:
    settings = {"style": Style.LINE, "key_headers": ("X-Line-Retry-Key",)}
    async with running(tmp_path, **settings) as sender:
        headers = {"X-Line-Retry-Key": "k1"}
        first = await sender.client.post("/v2/bot/message/push", json={"to": "U1"}, headers=headers)
        second = await sender.client.post("/v2/bot/message/push", json={"to": "U1"}, headers=headers)
        assert sender.outcomes() == [Outcome.ACCEPTED, Outcome.REPEAT]
    (sent,) = first.json()["sentMessages"]
    assert second.status_code == 409
    assert second.headers["x-line-accepted-request-id"] == sent["id"]


@pytest.mark.parametrize(
    ("to", "status", "told"),
    [
        ("+15005550001", 201, {"sid": "http-1", "status": "queued"}),
        ("permanent+15005550001", 400, {"code": 21211, "message": "Invalid 'To' Phone Number"}),
        ("throttle+15005550001", 429, {"code": 20429, "message": "Too Many Requests"}),
        ("account+15005550001", 401, {"code": 20003, "message": "Authenticate"}),
        ("transient+15005550001", 503, {"code": 20503, "message": "Service unavailable"}),
    ],
)
async def test_twilio_style_has_sids_and_numbers(tmp_path: Path, to: str, status: int, told: object) -> None:
    async with running(tmp_path, style=Style.TWILIO, to_fields=("To",)) as sender:
        answer = await sender.client.post("/2010-04-01/Accounts/AC0/Messages.json", data={"To": to})
    assert (answer.status_code, answer.json()) == (status, told)


async def test_with_the_automatic_style_the_path_says_whose_answer_it_is(tmp_path: Path) -> None:
    async with running(tmp_path, style=Style.AUTO) as sender:
        paths = (
            "/v2/bot/message/push",
            "/2010-04-01/Accounts/AC0/Messages.json",
            "/email",
            "/v1/projects/shop/messages:send",
            "/token",
            "/send",
        )
        answers = [(await sender.client.post(path, json={"to": "mia"})).json() for path in paths]
    assert [next(iter(answer)) for answer in answers] == [
        "sentMessages",
        "sid",
        "ErrorCode",
        "name",
        "access_token",
        "id",
    ]
    assert sender.far_end.ledger().accepted().total() == len(paths) - 1, "a token is no message"


@pytest.mark.parametrize(
    ("body", "to"),
    [
        ({"json": {"message": {"to": "deep@example.com"}}}, "deep@example.com"),
        ({"json": {"chat_id": 42}}, "42"),
        ({"json": {"to": ["one@example.com"]}}, "one@example.com"),
        ({"data": {"to": "form@example.com", "text": "a b"}}, "form@example.com"),
    ],
)
async def test_the_recipient_is_found_where_the_settings_say(tmp_path: Path, body: Any, to: str) -> None:
    async with running(tmp_path, to_fields=("to", "message.to", "chat_id")) as sender:
        assert (await sender.client.put("/any/path", **body)).status_code == 200
        assert sender.far_end.ledger().accepted() == {(to, "http", "/any/path"): 1}


@pytest.mark.parametrize("content", [b"", b"no json", b"[]", b'{"to": {}}', b'{"to": ["a", "b"]}', b"[" * 100_000])
async def test_a_request_without_one_recipient_is_malformed(tmp_path: Path, content: bytes) -> None:
    async with running(tmp_path) as sender:
        assert (await sender.client.post("/send", content=content)).status_code == 400
        (row,) = sender.far_end.ledger().rows
    assert (row.outcome, row.cause, row.to) == (Outcome.REFUSED, Cause.MALFORMED, "")


async def test_a_body_above_the_limit_is_not_taken(tmp_path: Path) -> None:
    async with running(tmp_path, max_bytes=100) as sender:
        assert (await sender.send("mia@example.com", "k1", "x" * 100)).status_code == 413
        assert sender.outcomes() == []


async def test_a_wrong_token_is_an_account_error(tmp_path: Path) -> None:
    async with running(tmp_path, token="right") as sender:
        wrong = await sender.send("mia@example.com", "k1")
        sender.client.headers["Authorization"] = "Bearer right"
        right = await sender.send("mia@example.com", "k1")
        assert sender.outcomes() == [Outcome.ACCOUNT, Outcome.ACCEPTED]
    assert (wrong.status_code, right.status_code) == (401, 200)


async def test_a_permanent_address_is_refused_at_every_attempt(tmp_path: Path) -> None:
    async with running(tmp_path) as sender:
        statuses = [(await sender.send("permanent+mia@example.com", key)).status_code for key in ("k1", "k1", "k2")]
        assert sender.outcomes() == [Outcome.REFUSED] * 3
    assert statuses == [422, 422, 422]


async def test_a_transient_address_is_accepted_after_the_failures_it_names(tmp_path: Path) -> None:
    async with running(tmp_path) as sender:
        statuses = [(await sender.send("transient3+mia@example.com", "k1")).status_code for _ in range(4)]
        assert [row.attempt for row in sender.far_end.ledger().rows] == [1, 2, 3, 4]
    assert statuses == [503, 503, 503, 200]


async def test_a_throttled_answer_names_its_wait_in_whole_seconds(tmp_path: Path) -> None:
    async with running(tmp_path, behaviour=Behaviour(retry_after=2.2)) as sender:
        answer = await sender.send("throttle+mia@example.com", "k1")
        assert sender.outcomes() == [Outcome.THROTTLED]
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "3")


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [("lost", httpx.ReadError, None), ("garbage", httpx.RemoteProtocolError, "illegal status line")],
)
async def test_a_lost_answer_is_an_acceptance_and_its_repeat_gets_the_id(
    tmp_path: Path, kind: str, error: type[Exception], words: str | None
) -> None:
    async with running(tmp_path) as sender:
        with pytest.raises(error, match=words):
            await sender.send(f"{kind}+mia@example.com", "k1")
        again = await sender.send(f"{kind}+mia@example.com", "k1")
        first, second = sender.far_end.ledger().rows
    assert (first.outcome, first.answer_lost, first.status) == (Outcome.ACCEPTED, True, None)
    assert (second.outcome, second.answer_lost) == (Outcome.REPEAT, False)
    assert again.json() == {"id": first.message_id}


@pytest.mark.parametrize("kind", ["drop", "stall"])
async def test_a_dropped_hand_off_is_no_acceptance_and_gets_no_answer(tmp_path: Path, kind: str) -> None:
    async with running(tmp_path, behaviour=brief()) as sender:
        with pytest.raises(httpx.TransportError):
            await sender.send(f"{kind}+mia@example.com", "k1")
        assert (await sender.send(f"{kind}+mia@example.com", "k1")).status_code == 200
        assert sender.outcomes() == [Outcome.DROPPED, Outcome.ACCEPTED]


async def test_a_hanging_hand_off_is_accepted_after_its_sender_has_gone(tmp_path: Path) -> None:
    async with running(tmp_path, behaviour=brief()) as sender:
        with pytest.raises(httpx.ReadTimeout):
            await sender.send("hang+mia@example.com", "k1", timeout=0.05)
        assert sender.outcomes() == []
        await eventually(lambda: sender.outcomes() == [Outcome.ACCEPTED])
        (row,) = sender.far_end.ledger().rows
    assert row.ts - row.arrived >= 0.2


async def test_a_slow_hand_off_is_accepted_at_once_and_answered_late(tmp_path: Path) -> None:
    async with running(tmp_path, behaviour=brief()) as sender:
        answer = asyncio.create_task(sender.send("slow+mia@example.com", "k1"))
        await eventually(lambda: sender.outcomes() == [Outcome.ACCEPTED])
        assert not answer.done()
        assert (await answer).status_code == 200


@pytest.mark.parametrize("abort", [False, True])
async def test_a_request_that_breaks_off_before_its_last_byte_is_not_taken(tmp_path: Path, abort: bool) -> None:
    body = b'{"to": "mia@example.com"}'
    head = b"POST /send HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (len(body) + 1)
    async with running(tmp_path) as sender:
        _, writer = await asyncio.open_connection("127.0.0.1", sender.far_end.http_port)
        writer.write(head + body)
        await writer.drain()
        await sender.send("noah@example.com", "k2")
        if abort:
            writer.transport.abort()
        writer.close()
        await sender.send("olga@example.com", "k3")
    rows = Ledger.read(tmp_path / "ledger.ndjson").rows
    assert [row.to for row in rows] == ["noah@example.com", "olga@example.com"]


async def test_the_pace_limit_answers_429_and_the_ledger_says_by_how_much_it_was_exceeded(tmp_path: Path) -> None:
    pace = Pace.parse("5/60")
    async with running(tmp_path, behaviour=Behaviour(pace=pace)) as sender:
        answers = [await sender.send("transient1+mia@example.com", "k1") for _ in range(7)]
        ledger = sender.far_end.ledger()
    assert [answer.status_code for answer in answers] == [503, 200, 200, 200, 200, 429, 429]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 12
    assert [row.cause for row in ledger.rows[5:]] == [Cause.PACE, Cause.PACE]
    assert ledger.pace_excess(pace) == pytest.approx(2, abs=0.2)
    assert ledger.pace_excess(Pace.parse("7/60")) == 0


async def test_pace_does_not_use_up_the_attempts_that_an_address_names(tmp_path: Path) -> None:
    async with running(tmp_path, behaviour=Behaviour(pace=Pace(1, 3600, 1))) as sender:
        await sender.send("ok+first@example.com", "k0")
        assert (await sender.send("transient1+mia@example.com", "k1")).status_code == 429
        await sender.far_end.control({"pace": None})
        statuses = [(await sender.send("transient1+mia@example.com", "k1")).status_code for _ in range(2)]
    assert statuses == [503, 200]


async def test_from_the_named_message_on_everything_is_an_account_error(tmp_path: Path) -> None:
    async with running(tmp_path, behaviour=Behaviour(account_after=2)) as sender:
        statuses = [(await sender.send("mia@example.com", f"k{number}")).status_code for number in range(4)]
    assert statuses == [200, 200, 401, 401]


MIXED = Behaviour(chances=Chances(permanent=0.1, transient=0.2, throttle=0.2, lost=0.1, drop=0.1), hang_seconds=0)


async def fates(tmp_path: Path, name: str, order: list[int], **settings: Any) -> dict[str, list[Outcome]]:
    """Send to everybody until accepted or refused; return the outcomes of each."""
    ledger = tmp_path / f"{name}.ndjson"
    key = name if settings.get("chance_by") is ChanceBy.RECIPIENT else "k"
    async with running(tmp_path, ledger=ledger, behaviour=MIXED, **settings) as sender:
        for _ in range(3):
            for number in order:
                to = f"u{number}@example.com"
                try:
                    await sender.send(to, f"{key}{number}")
                except httpx.TransportError:
                    continue
    rows = Ledger.read(ledger).rows
    return {to: [row.outcome for row in rows if row.to == to] for to in {row.to for row in rows}}


async def test_the_same_seed_gives_the_same_fates_in_any_order(tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(range(60), 60)
    first = await fates(tmp_path, "first", list(range(60)), seed=7)
    assert first == await fates(tmp_path, "second", shuffled, seed=7)
    assert first != await fates(tmp_path, "third", shuffled, seed=8)
    seen = {outcome for outcomes in first.values() for outcome in outcomes}
    assert seen >= {Outcome.ACCEPTED, Outcome.REPEAT, Outcome.REFUSED, Outcome.TRANSIENT, Outcome.DROPPED}
    refused = [outcomes for outcomes in first.values() if Outcome.REFUSED in outcomes]
    assert all(set(outcomes) == {Outcome.REFUSED} for outcomes in refused)


async def test_chances_by_recipient_do_not_depend_on_the_keys(tmp_path: Path) -> None:
    by_recipient = {"seed": 7, "chance_by": ChanceBy.RECIPIENT}
    first = await fates(tmp_path, "first", list(range(40)), **by_recipient)
    assert first == await fates(tmp_path, "second", list(range(40)), **by_recipient)


async def test_a_rule_gives_matching_addresses_their_fate(tmp_path: Path) -> None:
    rules = (("+1500555*9", "permanent"), ("+1500555*", "transient1"))
    async with running(tmp_path, overrides=rules) as sender:
        numbers = ("+15005550009", "+15005550001", "+15005550001", "+81312345678")
        assert [(await sender.send(number)).status_code for number in numbers] == [422, 503, 200, 200]


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Chances(lost=1.5), "chances.lost"),
        (lambda: Chances(lost=0.6, drop=0.6), "add up to 1.2"),
        (lambda: Behaviour(latency=-1), "latency"),
        (lambda: Behaviour(key_window=float("nan")), "key_window"),
        (lambda: Pace.parse("fast"), "500/1/50"),
        (lambda: Pace.parse("0/1"), "pace"),
        (lambda: SimulatorSettings(ledger=Path("x"), https=True), "tls_certificate"),
        (lambda: SimulatorSettings(ledger=Path("x"), conflict_status=500), "409 or 422"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(make: Callable[[], object], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        make()
