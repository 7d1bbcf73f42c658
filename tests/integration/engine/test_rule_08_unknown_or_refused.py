"""Rule 8: without keys, only a refusal that is known to come before acceptance is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sendonce_cli.simulate import Behaviour, Chances, Simulator, SimulatorSettings, serve
from sendonce_worker.providers.base import Provider
from sendonce_worker.providers.errors import UnknownOutcomeError
from sendonce_worker.providers.http_api.answers import compile_rule
from sendonce_worker.providers.http_api.provider import HttpProvider, HttpSettings
from sendonce_worker.providers.smtp.provider import SmtpProvider, SmtpSettings

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, FarEnd, World

# how a far end without keys can leave it open whether it took the message; None: it says nothing more
UNKNOWN: dict[str, bytes | None] = {
    "500": b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
    "502": b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
    "503": b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n",
    "504": b"HTTP/1.1 504 Gateway Timeout\r\ncontent-length: 0\r\n\r\n",
    "409": b"HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n",
    "closed after the request": b"",
    "an answer that breaks off": b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{",
    "no answer in time": None,
}
REFUSED: dict[str, bytes] = {
    "425": b"HTTP/1.1 425 Too Early\r\ncontent-length: 0\r\n\r\n",
    "as a rule says": b"HTTP/1.1 503 Busy\r\ncontent-length: 8\r\n\r\nnot_now!",
}


@asynccontextmanager
async def _answering(answer: bytes | None) -> AsyncIterator[tuple[int, list[bytes]]]:
    requests: list[bytes] = []

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        requests.append(head + await reader.readexactly(length))
        if answer is None:
            await reader.read()  # until the sender gives up
        else:
            writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], requests


def _http(port: int) -> Provider:
    rule = compile_rule(503, "not_now", "Transient")
    return HttpProvider(HttpSettings(f"http://127.0.0.1:{port}/send", rules=(rule,), timeout=1.5), {})


async def _twice(campaign: Campaign, provider: Provider) -> None:
    """What two sessions, one after the other, make of a batch."""
    campaign.repeats = replace(campaign.repeats, key_window=None)
    for _ in range(2):
        batch = await campaign.try_claim()
        if batch is not None:
            await (await campaign.session(batch, provider)).run()
    await provider.aclose()


@pytest.mark.parametrize("answer", UNKNOWN.values(), ids=UNKNOWN.keys())
async def test_http_that_may_have_accepted_is_uncertain_and_not_repeated(world: World, answer: bytes | None) -> None:
    campaign = await world.campaign(1)
    async with _answering(answer) as (port, requests):
        await _twice(campaign, _http(port))
    assert len(requests) == 1
    row = await campaign.row()
    assert (row["state"], row["reason"], row["maybe_accepted"]) == ("uncertain", "unknown_outcome", True)


@pytest.mark.parametrize("answer", REFUSED.values(), ids=REFUSED.keys())
async def test_http_that_refused_before_acceptance_is_tried_again(world: World, answer: bytes) -> None:
    campaign = await world.campaign(1)
    async with _answering(answer) as (port, requests):
        await _twice(campaign, _http(port))
    assert len(requests) == 2
    assert (await campaign.row())["state"] == "pending"


@asynccontextmanager
async def _mail_server(tmp_path: Path, chances: Chances) -> AsyncIterator[Simulator]:
    behaviour = Behaviour(chances=chances, hang_seconds=0.2)
    async with serve(SimulatorSettings(ledger=tmp_path / "ledger.ndjson", behaviour=behaviour)) as simulator:
        yield simulator


@pytest.mark.parametrize(
    ("chances", "state", "handed_off"),
    [(Chances(lost=1.0), "uncertain", 1), (Chances(transient=1.0), "pending", 2)],
    ids=["lost after the final dot", "refused"],
)
async def test_smtp_is_repeated_only_after_a_refusal(
    world: World, tmp_path: Path, chances: Chances, state: str, handed_off: int
) -> None:
    campaign = await world.campaign(1)
    async with _mail_server(tmp_path, chances) as simulator:
        provider = SmtpProvider(SmtpSettings("127.0.0.1", simulator.smtp_port, tls="None", timeout=5.0), {})
        await _twice(campaign, provider)
        assert len(simulator.ledger().rows) == handed_off
    assert (await campaign.row())["state"] == state


async def test_a_bug_in_a_provider_counts_as_an_unknown_outcome(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(1)
    far_end.key_window = None
    campaign.repeats = replace(campaign.repeats, key_window=None)

    async def broken(message: object) -> None:
        raise RuntimeError("index out of range")

    far_end.answer = broken  # type: ignore[assignment]
    await (await campaign.session(await campaign.claim(), far_end)).run()
    assert ((await campaign.row())["state"], (await campaign.row())["code"]) == ("uncertain", "bug")


async def test_with_a_key_an_unknown_outcome_is_repeated(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(1)

    async def unknown(message: object) -> None:
        raise UnknownOutcomeError("timeout", "no answer")

    far_end.answer = unknown  # type: ignore[assignment]
    for _ in range(2):
        await (await campaign.session(await campaign.claim(), far_end)).run()
    assert dict(far_end.people) == {"user1@example.com": 2}
    assert (await campaign.row())["state"] == "pending"
