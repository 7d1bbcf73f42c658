"""Worker processes that send mails in batches, and are asked to go or killed: nobody is lost, nobody gets it twice."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sendonce_cli.simulate import Ledger, Simulator, Style

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World
    from tests.integration.engine.processes.conftest import Crew, WorkerProcess

# for longer than one wait, at ten in a second
PEOPLE = 800
IN_FLIGHT = 10
BATCH = IN_FLIGHT // 2


def _provider(far_end: Simulator) -> dict[str, Any]:
    return {
        "type": "Postmark",
        "postmark": {"baseURL": f"http://127.0.0.1:{far_end.http_port}"},
        "credentialsSecretRef": {"name": "postmark"},
        "timeoutSeconds": 20,
    }


async def _start(crew: Crew, **env: str) -> WorkerProcess:
    folder: Path = crew.files / "secrets" / "postmark"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "serverToken").write_text("a-server-token", "utf-8")
    return await crew.start(SENDONCE_CONCURRENCY=str(IN_FLIGHT), **env)


def _got(ledger: Ledger) -> Counter[str]:
    return Counter({to: times for (to, _, _), times in ledger.accepted().items()})


def _requests(ledger: Ledger) -> list[int]:
    """How many mails came together, request by request."""
    return list(Counter(row.arrived for row in ledger.rows).values())


async def test_a_worker_that_is_asked_to_go_finishes_its_batches_and_gives_the_rest_back(
    world: World, crew: Crew, simulate: Any
) -> None:
    async with simulate(style=Style.POSTMARK, latency=1.0) as far_end:
        campaign = await world.campaign(PEOPLE, provider=_provider(far_end))
        worker = await _start(crew)
        await world.eventually(lambda: far_end.ledger().accepted())
        worker.signal(signal.SIGTERM)
        assert await worker.exit_code() == 0, worker.words
    ledger = far_end.ledger()
    states = await campaign.states()
    assert set(states) == {"sent", "pending"}
    assert states["sent"] == _got(ledger).total() < PEOPLE
    assert set(_got(ledger).values()) == {1}
    assert set(_requests(ledger)) == {BATCH}


async def test_a_killed_worker_leaves_at_most_what_was_in_flight_uncertain_and_nobody_gets_it_twice(
    world: World, crew: Crew, simulate: Any
) -> None:
    async with simulate(style=Style.POSTMARK, latency=1.0) as far_end:
        campaign = await world.campaign(PEOPLE, provider=_provider(far_end))
        worker = await _start(crew)
        await world.eventually(lambda: far_end.deciding == IN_FLIGHT and far_end.ledger().accepted())
        await worker.kill()
        await campaign.lapse()
        await far_end.control({"latency": 0})
        assert await (await _start(crew, SENDONCE_EXIT_WHEN_DONE="1")).exit_code() == 0
    got = _got(far_end.ledger())
    rows = {row["address"]: row["state"] for row in await campaign.rows()}
    assert 1 <= list(rows.values()).count("uncertain") <= IN_FLIGHT
    assert set(rows.values()) == {"sent", "uncertain"}
    assert max(got.values()) == 1
    assert {address for address, state in rows.items() if state == "sent"} <= set(got) <= set(rows)


async def test_partial_refusals_and_a_lost_answer_end_by_mail(world: World, crew: Crew, simulate: Any) -> None:
    people = ["permanent+1@example.com", "lost+2@example.com", *(f"ok+{no}@example.com" for no in range(3, 21))]
    recipients = [world.person(no, {"Email": address}) for no, address in enumerate(people, 1)]
    async with simulate(style=Style.POSTMARK) as far_end:
        campaign = await world.campaign(recipients, provider=_provider(far_end))
        worker = await _start(crew, SENDONCE_EXIT_WHEN_DONE="1")
        assert await worker.exit_code() == 0, worker.words
    ledger = far_end.ledger()
    rows = {row["no"]: row["state"] for row in await campaign.rows()}
    assert [rows[no] for no in range(1, BATCH + 1)] == ["uncertain"] * BATCH, "the answer about all of them was lost"
    assert {rows[no] for no in range(BATCH + 1, len(people) + 1)} == {"sent"}
    assert _got(ledger) == Counter(dict.fromkeys(people[1:], 1))
