"""The simulated far end's control port, ledger and restart."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from sendonce_cli.simulate import (
    Behaviour,
    Cause,
    Chances,
    Ledger,
    LedgerError,
    Outcome,
    Pace,
    SettingsError,
    Simulator,
    SimulatorSettings,
    serve,
)


class Link:
    """A sender and an operator of one far end, over HTTP."""

    def __init__(self, far_end: Simulator, sender: httpx.AsyncClient, control: httpx.AsyncClient) -> None:
        self.far_end = far_end
        self.sender = sender
        self.window = control

    async def send(self, to: str = "mia@example.com", key: str = "k1") -> int:
        headers = {"Idempotency-Key": key}
        return (await self.sender.post("/send", json={"to": to}, headers=headers)).status_code

    async def order(self, **order: Any) -> httpx.Response:
        return await self.window.post("/control", json=order)


@asynccontextmanager
async def running(ledger: Path, **settings: Any) -> AsyncIterator[Link]:
    async with (
        serve(SimulatorSettings(ledger=ledger, **settings)) as far_end,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{far_end.http_port}", timeout=10) as sender,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{far_end.control_port}", timeout=10) as control,
    ):
        yield Link(far_end, sender, control)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.ndjson"


async def test_a_refusing_outage_leaves_only_the_control_port_and_ends_on_the_same_ports(ledger: Path) -> None:
    async with running(ledger) as link:
        assert await link.send() == 200
        reader, writer = await asyncio.open_connection("127.0.0.1", link.far_end.smtp_port)
        assert (await reader.readline()).startswith(b"220")
        assert (await link.order(outage="refuse")).json()["outage"] == "refuse"
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(), 10)
        writer.close()
        with pytest.raises(httpx.TransportError):
            await link.send()
        for port in (link.far_end.http_port, link.far_end.smtp_port):
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)
        await link.order(outage="none")
        assert await link.send(key="k2") == 200
        _, writer = await asyncio.open_connection("127.0.0.1", link.far_end.smtp_port)
        writer.close()
        assert link.far_end.ledger().accepted_keys() == {"k1": 1, "k2": 1}


async def test_what_was_taken_in_before_an_outage_is_accepted_during_it(ledger: Path) -> None:
    async with running(ledger, behaviour=Behaviour(hang_seconds=0.2), overrides=(("*", "hang9"),)) as link:
        both = [asyncio.create_task(link.send()) for _ in range(2)]
        (conflict,), (hanging,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        assert conflict.result() == 409
        await link.order(outage="refuse")
        with pytest.raises(httpx.TransportError):
            await hanging
    assert Ledger.read(ledger).accepted_keys() == {"k1": 1}


async def test_an_outage_ordered_on_the_port_that_goes_away_is_refused(ledger: Path) -> None:
    async with running(ledger) as link:
        refused = await link.sender.post("/control", json={"outage": "refuse"})
        assert refused.status_code == 400
        assert str(link.far_end.control_port) in refused.json()["message"]
        assert (await link.sender.post("/control", json={"latency": 0.001})).json()["latency"] == 0.001


@pytest.mark.parametrize(("mode", "outcome"), [("answer", Outcome.TRANSIENT), ("close", Outcome.DROPPED)])
async def test_an_outage_that_answers_or_closes_accepts_nothing_and_is_recorded(
    ledger: Path, mode: str, outcome: Outcome
) -> None:
    async with running(ledger) as link:
        await link.order(outage=mode)
        if mode == "answer":
            assert await link.send("transient1+mia@example.com") == 503
        else:
            with pytest.raises(httpx.TransportError):
                await link.send("transient1+mia@example.com")
        (row,) = link.far_end.ledger().rows
        assert (row.outcome, row.cause, row.answer_lost) == (outcome, Cause.OUTAGE, mode == "close")
        await link.order(outage="none")
        assert [await link.send("transient1+mia@example.com") for _ in range(2)] == [503, 200]


async def test_everything_is_throttled_for_the_ordered_time(ledger: Path) -> None:
    async with running(ledger) as link:
        await link.order(throttle_seconds=100)
        answer = await link.sender.post("/send", json={"to": "mia@example.com"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "100")
        await link.order(throttle_seconds=0.05)
        async with asyncio.timeout(10):
            while True:
                if await link.send() == 200:
                    break
                await asyncio.sleep(0.005)
        causes = Counter(row.cause for row in link.far_end.ledger().rows)
    assert causes[Cause.CONTROL] >= 1
    assert causes[Cause.NORMAL] == 1


async def test_only_a_reset_ends_an_ordered_throttling_early(ledger: Path) -> None:
    async with running(ledger) as link:
        await link.order(throttle_seconds=100)
        await link.order(latency=0.001)
        assert await link.send() == 429
        await link.order(reset=True)
        assert await link.send() == 200


async def test_forgotten_keys_are_new_again(ledger: Path) -> None:
    async with running(ledger) as link:
        for forget in (False, False, True):
            await link.order(forget_keys=forget)
            await link.send()
        assert link.far_end.ledger().duplicate_keys() == {"k1": 2}


async def test_chances_change_one_by_one_and_a_reset_restores_the_start(ledger: Path) -> None:
    start = Behaviour(chances=Chances(transient=0.25), latency=0.001, key_window=9)
    async with running(ledger, behaviour=start) as link:
        changed = (await link.order(chances={"lost": 0.5}, pace="10/2", key_window=1.5)).json()
        assert (changed["chances"]["transient"], changed["chances"]["lost"]) == (0.25, 0.5)
        assert (changed["pace"], changed["key_window"], changed["latency"]) == ("10/2/10", 1.5, 0.001)
        await link.order(reset=True, account_after=0)
        assert link.far_end.behaviour == Behaviour(
            chances=Chances(transient=0.25), latency=0.001, key_window=9, account_after=0
        )
        assert await link.send() == 401


@pytest.mark.parametrize(
    ("order", "field", "words"),
    [
        ([], "body", "JSON object"),
        ({"latncy": 1}, "latncy", "known are account_after, chances"),
        ({"chances": {"lots": 1}}, "chances.lots", "known are account, drop"),
        ({"chances": {"lost": "x"}}, "chances.lost", "not a number"),
        ({"chances": 1}, "chances", "object"),
        ({"chances": {"lost": 2}}, "chances.lost", "between 0 and 1"),
        ({"outage": "total"}, "outage", "none, refuse, close, answer"),
        ({"pace": 5}, "pace", "500/1"),
        ({"latency": -1}, "latency", "0 or more"),
        ({"latency": True}, "latency", "not a number"),
        ({"account_after": 1.5}, "account_after", "whole number"),
        ({"throttle_seconds": -1}, "throttle_seconds", "below 0"),
        ({"forget_keys": 1}, "forget_keys", "true or false"),
    ],
)
async def test_a_bad_order_is_refused_by_name_and_changes_nothing(
    ledger: Path, order: Any, field: str, words: str
) -> None:
    async with running(ledger) as link:
        answer = await link.window.post("/control", json=order)
        assert answer.status_code == 400
        assert answer.json()["field"] == field
        assert words in answer.json()["message"]
        assert link.far_end.behaviour == Behaviour()
        assert (await link.window.post("/control", content=b"{")).status_code == 400


@pytest.mark.parametrize("window", ["sender", "window"])
async def test_the_ledger_and_its_summary_are_served(ledger: Path, window: str) -> None:
    async with running(ledger, behaviour=Behaviour(key_window=0, pace=Pace(3, 3600, 3))) as link:
        statuses = [await link.send() for _ in range(4)]
        client: httpx.AsyncClient = getattr(link, window)
        rows = (await client.get("/ledger")).text.splitlines()
        summary = (await client.get("/ledger/summary")).json()
        other = (await client.get("/ledger/summary", params={"pace": "1/3600/1"})).json()
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/ledger/summary", params={"pace": "x"})).status_code == 400
    assert statuses == [200, 200, 200, 429]
    assert [json.loads(row)["outcome"] for row in rows] == ["accepted"] * 3 + ["throttled"]
    assert summary["outcomes"] == {"accepted": 3, "throttled": 1}
    assert (summary["rows"], summary["accepted"], summary["recipients"]) == (4, 3, 1)
    assert summary["duplicates"] == [{"to": "mia@example.com", "protocol": "http", "path": "/send", "accepted": 3}]
    assert summary["pace_violations"] == 1
    assert summary["pace_excess"] == pytest.approx(1, abs=0.1)
    assert other["pace_excess"] == pytest.approx(3, abs=0.1)


async def test_the_control_port_takes_no_messages(ledger: Path) -> None:
    async with running(ledger) as link:
        assert (await link.window.post("/send", json={"to": "x"})).status_code == 404
        assert (await link.sender.get("/send")).status_code == 405
        assert link.far_end.ledger().rows == ()


async def test_a_restart_goes_on_with_keys_and_attempts_of_the_ledger(ledger: Path) -> None:
    async with running(ledger) as link:
        assert await link.send("ok+mia@example.com", "k1") == 200
        assert await link.send("transient2+noah@example.com", "k2") == 503
    with ledger.open("ab") as file:
        file.write(b'{"ts": 1, "torn')
    async with running(ledger, append=True) as link:
        assert await link.send("ok+mia@example.com", "k1") == 200
        assert [await link.send("transient2+noah@example.com", "k2") for _ in range(2)] == [503, 200]
        rows = link.far_end.ledger().rows
    assert [(row.key, row.outcome, row.attempt) for row in rows] == [
        ("k1", Outcome.ACCEPTED, 1),
        ("k2", Outcome.TRANSIENT, 1),
        ("k1", Outcome.REPEAT, 2),
        ("k2", Outcome.TRANSIENT, 2),
        ("k2", Outcome.ACCEPTED, 3),
    ]


async def test_an_existing_ledger_is_not_mixed_with_another_run_unless_asked(ledger: Path) -> None:
    async with running(ledger) as link:
        await link.send()
    before = ledger.read_bytes()
    with pytest.raises(SettingsError, match="--append"):
        async with running(ledger):
            pass
    assert ledger.read_bytes() == before


async def test_a_ledger_being_written_is_read_up_to_its_last_whole_line(ledger: Path) -> None:
    async with running(ledger) as link:
        await link.send()
        whole = Ledger.read(ledger)
        with ledger.open("ab") as file:
            file.write(b'{"ts": 1')
        assert Ledger.read(ledger) == whole


def test_a_line_that_is_no_row_is_named(ledger: Path) -> None:
    ledger.write_bytes(b'{"ts": 1}\n')
    with pytest.raises(LedgerError, match="line 1"):
        Ledger.read(ledger)


async def test_a_port_in_use_is_named(ledger: Path, tmp_path: Path) -> None:
    async with running(ledger) as link:
        taken = link.far_end.http_port
        with pytest.raises(SettingsError, match=f"http_port: cannot listen on 127.0.0.1 port {taken}"):
            async with running(tmp_path / "other.ndjson", http_port=taken):
                pass


async def test_a_stop_waits_for_what_is_being_decided_and_no_longer_than_set(tmp_path: Path) -> None:
    settings = {"behaviour": Behaviour(hang_seconds=0.3), "overrides": (("*", "hang9"),)}
    for drain, accepted in ((5.0, {"k1": 1}), (0.01, {})):
        ledger = tmp_path / f"{drain}.ndjson"
        async with running(ledger, drain_seconds=drain, **settings) as link:
            both = [asyncio.create_task(link.send()) for _ in range(2)]
            _, (hanging,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            await link.far_end.stop()
        await asyncio.gather(hanging, return_exceptions=True)
        assert Ledger.read(ledger).accepted_keys() == accepted
