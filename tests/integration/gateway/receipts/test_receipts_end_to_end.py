"""A worker whose answers were lost, and the provider's reports that tell what became of its messages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.integration.engine.processes.conftest import crew, simulate
from tests.unit.gateway.receipts_senders import SendGrid, Told

from sendonce_cli.simulate import Chances
from sendonce_store import ledger
from sendonce_store.receipts import Kind

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World
    from tests.integration.engine.processes.conftest import Crew
    from tests.integration.gateway.conftest import Opening

__all__ = ["crew", "simulate"]
PEOPLE = 40


async def test_lost_answers_are_settled_by_reports_and_the_sums_add_up(
    world: World, crew: Crew, simulate: Any, open_gate: Opening, tmp_path: Path
) -> None:
    sender, secrets = SendGrid(), tmp_path / "receipts"
    secrets.mkdir()
    (secrets / "default.sendgrid.far-end.publicKey").write_text(sender.secrets["publicKey"][0])
    async with simulate(chances=Chances(lost=0.5)) as far_end:
        url = f"http://127.0.0.1:{far_end.http_port}/send/{{{{ delivery_id }}}}"
        campaign = await world.campaign(PEOPLE, provider={"http": {"url": url}})
        await crew.start()

        async def ended() -> bool:
            return (await campaign.record())["ended"] is not None

        await world.eventually(ended)
        states = await campaign.states()
        assert states["uncertain"] > 0
        assert states["uncertain"] + states["sent"] == PEOPLE
        assert (await campaign.record())["ended_reason"] == "SomeUndelivered"
        accepted = far_end.ledger().rows
        assert len(accepted) == PEOPLE  # nobody was sent to twice
    gate = await open_gate(receipts_dir=secrets)
    now = datetime.now(UTC)
    events = []
    for number, row in enumerate(accepted):
        kind = Kind.BOUNCED if number % 4 == 0 else Kind.DELIVERED
        events += sender.event(Told(kind, row.path.rpartition("/")[2], f"m-{number}", f"event-{number}", now, row.to))
    sent = sender.sign(events, now)
    for _ in range(2):  # providers send it again now and then
        answer = await gate.post("/receipts/default/sendgrid/far-end", sent.body, headers=sent.headers)
        assert answer.status == 200
    assert await campaign.states() == {"sent": PEOPLE}
    overview = await ledger.overview(world.conn, "default", campaign.id)
    assert overview is not None
    assert (overview.ended_reason, overview.ended_message) == ("AllSent", f"{PEOPLE} sent")
    assert (overview.reports.delivered, overview.reports.bounced) == (30, 10)
    assert overview.counts.total == overview.counts.sent == PEOPLE
    assert len(await campaign.query("SELECT address FROM sendonce.suppressions WHERE reason = 'bounced'")) == 10
    settled = [one for one in await campaign.attempts() if one["worker"] == "receipt:sendgrid/far-end"]
    assert [one["outcome"] for one in settled].count("accepted") == states["uncertain"]
