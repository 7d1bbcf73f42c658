"""What goes away and comes back: the operator, workers, the database, the API server; and two operators at once."""

from __future__ import annotations

import asyncio

from tests.cluster.operator.stage import Stage, campaign, condition, provider

from sendonce_cli.embedded import EmbeddedPostgres

SLOW = [{"messages": 20, "periodSeconds": 1, "burst": 1}]
# where the middle is seen by a status, which is written every few seconds
SLOWER = [{"messages": 5, "periodSeconds": 1, "burst": 1}]


def sent(found: dict[str, object] | None) -> int:
    status: object = (found or {}).get("status")
    counts = status.get("deliveries") if isinstance(status, dict) else None
    return int(counts["sent"]) if counts else 0


async def some_sent(stage: Stage) -> None:
    """Wait for the far end to have got some, which it knows at once."""

    async def some() -> bool:
        return stage.received().total() >= 5

    await stage.until_true(some, "some are sent")


async def test_an_operator_that_is_killed_again_and_again_loses_and_repeats_nothing(stage: Stage) -> None:
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=50))
    for pause in (0.3, 0.6, 0.9, 1.2, 1.5, 2.0):
        operator = await stage.operate()
        await asyncio.sleep(pause)  # it is to be killed at no particular point
        await operator.kill()
    await stage.operate()
    await stage.until_complete("spring")
    stage.assert_each_got_one(50)


async def test_workers_go_on_without_an_operator_and_their_result_is_shown_later(stage: Stage) -> None:
    operator = await stage.operate()
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=50))
    await some_sent(stage)
    await operator.kill()

    async def all_sent() -> bool:
        return stage.received().total() == 50

    await stage.until_true(all_sent, "the rest is sent")
    await stage.operate()
    await stage.until_complete("spring")
    stage.assert_each_got_one(50)


async def test_workers_that_are_killed_are_replaced_and_nobody_is_lost_or_gets_two(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=50))
    await some_sent(stage)
    assert stage.pods.kill() >= 1
    await stage.until_complete("spring")
    stage.assert_each_got_one(50)


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
    await stage.apply(provider(stage.simulator, limits=SLOWER), campaign("spring", count=50))
    await stage.until("spring", lambda found: sent(found) >= 5, "some are sent")
    await server.stop()
    found = await stage.until_condition("spring", "Ready", "Unknown", "StoreUnavailable")
    assert sent(found) >= 5, "what is known stays"
    await server.start()
    await stage.until_complete("spring")
    stage.assert_each_got_one(50)


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
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=50))
    await stage.until("spring", lambda found: sent(found) >= 5, "some are sent")
    await asyncio.to_thread(stage.cluster.stop, "kube-apiserver", grace=0)

    async def all_sent() -> bool:
        return stage.received().total() == 50

    await stage.until_true(all_sent, "workers don't need it")
    await asyncio.to_thread(stage.cluster.start, "kube-apiserver")
    await stage.until_complete("spring")
    stage.assert_each_got_one(50)
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
