"""What comes and goes while a worker runs: the database, Secrets, the account at the provider."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_store import actions
from sendonce_store.actions import Order, Target
from sendonce_store.connection import connect

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World
    from tests.integration.engine.processes.conftest import Crew

# for longer than one wait, at four in a second
PEOPLE = 400


async def test_a_rejected_account_stops_the_campaign_burns_nobody_and_a_new_secret_is_picked_up(
    world: World, crew: Crew, simulate: Any
) -> None:
    token = crew.files / "secrets" / "api" / "token"
    token.parent.mkdir(parents=True)
    token.write_text("expired")
    async with simulate(token="fresh") as far_end:
        http = {
            "url": f"http://127.0.0.1:{far_end.http_port}/send",
            "headers": {"Authorization": "Bearer {{ secret.token }}"},
            "idempotencyKeyHeader": "Idempotency-Key",
            "keyWindowSeconds": 86_400,
        }
        provider = {"http": http, "credentialsSecretRef": {"name": "api"}}
        campaign = await world.campaign(30, provider=provider)
        worker = await crew.start()

        async def halted() -> bool:
            record = await campaign.record()
            return record["halt_reason"] == "CredentialsRejected" and "sending" not in await campaign.states()

        await world.eventually(halted)
        assert await campaign.states() == {"pending": 30}
        assert {(row["tries"], row["maybe_accepted"]) for row in await campaign.rows()} == {(0, False)}
        assert "401" in (await campaign.record())["halt_message"]
        token.write_text("fresh")
        await campaign.query("UPDATE sendonce.workers SET heartbeat_at = '2000-01-01'")

        async def looked_again() -> bool:
            (row,) = await campaign.query("SELECT heartbeat_at > '2001-01-01' AS beat FROM sendonce.workers")
            return bool(row["beat"])

        await world.eventually(looked_again)
        await actions.apply(world.conn, Target(campaign.id, "default"), Order("go", "Resume"))

        async def ended() -> bool:
            return (await campaign.record())["ended"] is not None

        await world.eventually(ended)
        assert await campaign.states() == {"sent": 30}
        assert set(far_end.ledger().accepted().values()) == {1}
        assert "fresh" not in worker.words


async def test_a_database_that_crashes_in_the_middle_costs_nobody_their_message(
    server: EmbeddedPostgres,
    server_database: str,
    tmp_path: Path,
    world: World,
    crew: Crew,
    simulate: Any,
) -> None:
    dsn = server.dsn(server_database, tcp=True)
    conn = await connect(dsn)
    own = type(world)(dsn, conn, dsn, conn)  # the owner's login: a store without tenants
    crew.dsn = dsn
    async with simulate(latency=1.0) as far_end:
        http = {"url": f"http://127.0.0.1:{far_end.http_port}/send"} | {
            "idempotencyKeyHeader": "Idempotency-Key", "keyWindowSeconds": 86_400,
        }  # fmt: skip
        await own.campaign(PEOPLE, provider={"http": http})
        worker = await crew.start(SENDONCE_EXIT_WHEN_DONE="1")

        async def some_accepted() -> bool:
            return len(far_end.ledger().rows) >= 8

        await world.eventually(some_accepted)
        await server.restart(immediate=True)
        assert len(far_end.ledger().accepted()) < PEOPLE
        await far_end.control({"latency": 0})
        assert await worker.exit_code() == 0
        accepted = far_end.ledger().accepted()
    assert len(accepted) == PEOPLE
    assert set(accepted.values()) == {1}
    fresh = await connect(dsn)
    cursor = await fresh.execute("SELECT DISTINCT state FROM sendonce.deliveries")
    assert [row["state"] for row in await cursor.fetchall()] == ["sent"]
    await fresh.close()
    await own.aclose()
