"""The simulated far end as a program: its one line, its end, and its bad options."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from sendonce_cli.simulate import Ledger, Outcome, Pace, Style
from sendonce_cli.simulate.command import settings_of, simulate_command


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.ndjson"


@asynccontextmanager
async def program(ledger: Path, *options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, dict[str, Any]]]:
    arguments = ("-m", "sendonce_cli.simulate", "--ledger", str(ledger), *options)
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        ready = await asyncio.wait_for(process.stdout.readline(), 30)
        yield process, json.loads(ready)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def post(port: int, to: str, key: str) -> int:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
        return (await client.post("/send", json={"to": to}, headers={"Idempotency-Key": key})).status_code


async def test_it_prints_its_ports_and_sigterm_finishes_what_is_being_decided(ledger: Path) -> None:
    async with program(ledger, "--hang-seconds", "0.5", "--override", "slow@*=hang9") as (process, ready):
        assert ready["ledger"] == str(ledger)
        both = [asyncio.create_task(post(ready["http"], "slow@example.com", "k1")) for _ in range(2)]
        (conflict,), (hanging,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        assert conflict.result() == 409
        process.send_signal(signal.SIGTERM)
        assert await hanging == 200
        assert await asyncio.wait_for(process.wait(), 10) == 0
    assert Ledger.read(ledger).accepted_keys() == {"k1": 1}


async def test_a_kill_loses_no_acceptance_that_was_answered(ledger: Path) -> None:
    async with program(ledger) as (process, ready):
        answered: list[str] = []

        async def send_on(worker: int) -> None:
            url = f"http://127.0.0.1:{ready['http']}"
            async with httpx.AsyncClient(base_url=url, timeout=10) as client:
                for number in range(10_000):
                    key = f"{worker}-{number}"
                    await client.post("/send", json={"to": key}, headers={"Idempotency-Key": key})
                    answered.append(key)
                    if len(answered) == 200:
                        process.kill()

        await asyncio.gather(*map(send_on, range(8)), return_exceptions=True)
    assert len(answered) >= 200
    assert set(answered) <= set(Ledger.read(ledger).accepted_keys())


async def test_the_loop_of_the_program_resets_and_refuses_as_well(ledger: Path) -> None:
    async with program(ledger) as (_, ready):
        with pytest.raises(httpx.TransportError):
            await post(ready["http"], "lost+mia@example.com", "k1")
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{ready['control']}") as control:
            await control.post("/control", json={"outage": "refuse"})
            for port in (ready["http"], ready["smtp"]):
                with pytest.raises(ConnectionRefusedError):
                    await asyncio.open_connection("127.0.0.1", port)
            await control.post("/control", json={"outage": "none"})
        assert await post(ready["http"], "lost+mia@example.com", "k1") == 200
        reader, writer = await asyncio.open_connection("127.0.0.1", ready["smtp"])
        assert (await reader.readline()).startswith(b"220")
        writer.close()
    assert Ledger.read(ledger).outcomes() == {Outcome.ACCEPTED: 1, Outcome.REPEAT: 1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--chance", "lots=0.1"), "chances.lots: unknown; known are account"),
        (("--chance", "lost"), "NAME=PROBABILITY"),
        (("--chance", "lost=0.7", "--chance", "drop=0.7"), "at most 1"),
        (("--pace", "500"), "MESSAGES/SECONDS[/BURST]"),
        (("--override", "x=never"), "GLOB=FATE"),
        (("--https",), "tls_certificate"),
        (("--https", "--tls-certificate", "missing.pem"), "cannot load missing.pem"),
        (("--latency", "-1"), "latency: -1.0 is not a number of seconds"),
        (("--key-window", "nan"), "key_window"),
        (("--host", "192.0.2.1"), "http_port: cannot listen on 192.0.2.1"),
    ],
)
def test_a_bad_option_ends_with_status_2_and_its_reason(ledger: Path, options: tuple[str, ...], words: str) -> None:
    result = CliRunner().invoke(simulate_command, ["--ledger", str(ledger), *options])
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_a_ledger_in_a_missing_folder_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(simulate_command, ["--ledger", str(tmp_path / "no" / "ledger.ndjson")])
    assert result.exit_code == 2
    assert "ledger: cannot write" in result.output


def test_every_option_reaches_the_settings(ledger: Path) -> None:
    arguments = ["--ledger", str(ledger), "--style", "line", "--key-header", "X-Line-Retry-Key", "--pace", "500/1/50"]
    arguments += ["--chance", "lost=0.02", "--seed", "7", "--override", "+1*=permanent", "--account-after", "3"]
    context = simulate_command.make_context("simulate", arguments)
    settings = settings_of(context.params)
    assert settings.style is Style.LINE
    assert settings.key_headers == ("X-Line-Retry-Key",)
    assert settings.behaviour.pace == Pace(500, 1, 50)
    assert (settings.behaviour.chances.lost, settings.behaviour.account_after) == (0.02, 3)
    assert (settings.seed, settings.overrides) == (7, (("+1*", "permanent"),))


def test_the_help_shows_the_addresses_that_name_their_fate() -> None:
    output = CliRunner().invoke(simulate_command, ["--help"]).output
    for fate in ("ok+", "permanent+", "transientN+", "throttleN+", "dropN+", "stallN+", "lostN+", "hangN+", "slowN+"):
        assert fate in output
