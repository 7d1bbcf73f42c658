"""From `kubectl apply` to Complete, and what stands in between."""

from __future__ import annotations

from tests.cluster.operator.stage import Stage, campaign, provider


async def test_a_campaign_that_is_applied_reaches_everybody_once_and_is_complete(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring", count=20))
    found = await stage.until_complete("spring")
    stage.assert_each_got_one(20)
    status = found["status"]
    assert status["deliveries"]["total"] == status["deliveries"]["sent"] == 20
    assert status["recipients"]["total"] == 20
    assert status["startTime"]
    assert status["completionTime"]
    assert found["metadata"]["annotations"]["sendonce.dev/ledger"]
    await stage.until_events("Accepted", "Completed")
