"""What goes away and comes back: the operator, workers, the database, the API server; and two operators at once."""

from __future__ import annotations

import asyncio

from tests.cluster.operator.stage import (
    MANY,
    ONE_AT_A_TIME,
    SLOW,
    SLUGGISH,
    Stage,
    campaign,
    condition,
    provider,
    sent,
)

from sendonce_cli.embedded import EmbeddedPostgres

# for longer than the operator is killed again and again
STEADY = [{"messages": 1, "periodSeconds": 1, "burst": 1}]


async def all_sent(stage: Stage) -> None:
    """Wait for the far end to have got the rest, which it takes at once from now on."""
    assert stage.received().total() < MANY, "it was done in the middle"
    await stage.simulator.control({"latency": 0})
    await stage.until_received(MANY)


async def test_an_operator_that_is_killed_again_and_again_loses_and_repeats_nothing(stage: Stage) -> None:
    await stage.apply(provider(stage.simulator, limits=STEADY), campaign("spring", count=MANY))
    for pause in (0.3, 0.6, 0.9, 1.2, 1.5, 2.0):
        operator = await stage.operate()
        await asyncio.sleep(pause)  # it is to be killed at no particular point
        await operator.kill()
    assert stage.received().total() < MANY
    await stage.operate()
    await stage.hurry()
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)


async def test_workers_go_on_without_an_operator_and_their_result_is_shown_later(stage: Stage) -> None:
    operator = await stage.operate()
    await stage.simulator.control(SLUGGISH)
    await stage.apply(provider(stage.simulator), campaign("spring", count=MANY, workers=ONE_AT_A_TIME))
    await stage.until_received(2)
    await operator.kill()
    await all_sent(stage)
    await stage.operate()
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)


async def test_workers_that_are_killed_are_replaced_and_nobody_is_lost_or_gets_two(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=MANY))
    await stage.until_received(2)
    assert stage.pods.kill() >= 1
    await stage.hurry()
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)


async def test_two_operators_at_once_do_what_one_does(stage: Stage) -> None:
    await stage.operate()
    await stage.operate()
    await stage.apply(provider(stage.simulator), *(campaign(f"c{no}", count=5) for no in range(5)))
    for no in range(5):
        found = await stage.until_complete(f"c{no}")
        assert found["status"]["deliveries"]["sent"] == 5
    assert set(stage.received().values()) == {5}, "each of five people is in each of five campaigns"


async def test_a_campaign_made_while_the_database_is_away_waits_and_goes_on(
    stage: Stage, server: EmbeddedPostgres
) -> None:
    dsn = server.dsn()
    stage.pods.dsn = dsn
    await server.stop()
    await stage.operate(SENDONCE_DSN=dsn)
    await stage.apply(provider(stage.simulator), campaign("spring"))
    found = await stage.until_condition("spring", "Ready", "Unknown", "StoreUnavailable")
    assert condition(found, "Reconciling") == ("True", "StoreUnavailable")
    assert condition(found, "Stalled") == ("", "")
    await server.start()
    await stage.until_complete("spring")
    stage.assert_each_got_one(3)


async def test_the_database_may_go_away_in_the_middle(stage: Stage, server: EmbeddedPostgres) -> None:
    dsn = server.dsn()
    stage.pods.dsn = dsn
    await stage.operate(SENDONCE_DSN=dsn)
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=MANY))
    await stage.until("spring", lambda found: sent(found) >= 5, "some are sent")
    await server.stop()
    found = await stage.until_condition("spring", "Ready", "Unknown", "StoreUnavailable")
    assert sent(found) >= 5, "what is known stays"
    await server.start()
    await stage.hurry()
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)


async def test_a_finished_campaign_stays_finished_while_the_database_is_away(
    stage: Stage, server: EmbeddedPostgres
) -> None:
    dsn = server.dsn()
    stage.pods.dsn = dsn
    operator = await stage.operate(SENDONCE_DSN=dsn)
    await stage.apply(provider(stage.simulator), campaign("spring"))
    await stage.until_complete("spring")
    await operator.kill()
    await server.stop()
    await stage.operate(SENDONCE_DSN=dsn)
    await stage.apply(campaign("other"))
    await stage.until_condition("other", "Ready", "Unknown", "StoreUnavailable")
    assert condition(await stage.get("spring"), "Complete")[0] == "True"
    await server.start()
    await stage.until_complete("other")


async def test_the_api_server_may_go_away_in_the_middle(stage: Stage) -> None:
    await stage.operate()
    await stage.simulator.control(SLUGGISH)
    await stage.apply(provider(stage.simulator), campaign("spring", count=MANY, workers=ONE_AT_A_TIME))
    await stage.until("spring", lambda found: sent(found) >= 1, "some are sent")
    await asyncio.to_thread(stage.cluster.stop, "kube-apiserver", grace=0)
    await all_sent(stage)  # workers don't need it
    await asyncio.to_thread(stage.cluster.start, "kube-apiserver")
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)
    await stage.until_true(stage.is_served, "the API server is ready again")


async def test_an_operator_that_is_asked_to_stop_ends_soon_and_well(stage: Stage) -> None:
    operator = await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring"))
    await stage.until_complete("spring")
    async with asyncio.timeout(15):
        assert await operator.stop() == 0
    assert "Traceback" not in operator.words


async def test_the_liveness_probe_answers(stage: Stage) -> None:
    operator = await stage.operate()
    await stage.until_true(operator.is_well, "it is well")
