"""Watches that die in silence, and watches whose history is gone: nothing is missed, and the liveness probe tells."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from tests.cluster.operator.stage import PATIENCE, Stage, campaign, provider
from tests.cluster.operator.watch_proxy import WatchProxy, watch_proxy

from sendonce_operator.paths import PLURALS

LATER = {"startAt": "2099-01-01T00:00:00Z"}
CAMPAIGNS = PLURALS["NotificationCampaign"]
LOSING_A_WATCH = (str(Path(__file__).with_name("operator_losing_a_watch.py")),)
WATCHED = (*PLURALS.values(), "deployments", "pods")


@pytest_asyncio.fixture
async def proxy(stage: Stage, tmp_path: Path) -> AsyncIterator[WatchProxy]:
    """Yield a proxy before the stage's API server."""
    async with watch_proxy(stage.cluster, tmp_path) as found:
        yield found
        for operator in stage.operators:
            await operator.kill()


async def test_a_watch_that_dies_in_silence_is_noticed_and_what_it_missed_is_done_meanwhile(stage: Stage) -> None:
    operator = await stage.operate(program=LOSING_A_WATCH, SENDONCE_RESYNC_SECONDS="2")
    await stage.apply(provider(stage.simulator), campaign("spring"))
    await stage.until_complete("spring")
    await stage.until_true(operator.is_well, "the liveness probe is content")
    assert operator.process is not None
    operator.process.send_signal(signal.SIGUSR1)
    await stage.apply(campaign("summer"))
    await stage.until_complete("summer")

    async def is_ill() -> bool:
        return await operator.health() == 500

    await stage.until_true(is_ill, "the liveness probe fails")
    assert set(stage.received().values()) == {2}, "each of three people is in both campaigns"


async def test_a_watch_that_breaks_off_with_an_error_ends_the_operator(stage: Stage, proxy: WatchProxy) -> None:
    operator = await stage.operate(KUBECONFIG=str(proxy.kubeconfig))
    assert operator.process is not None

    async def breaks_off() -> bool:
        return proxy.break_off(500, CAMPAIGNS) == 1

    await stage.until_true(breaks_off, "campaigns are watched")
    async with asyncio.timeout(PATIENCE):
        assert await operator.process.wait() == 1, "whoever runs it starts it anew"


async def test_a_watch_whose_history_is_gone_begins_anew_and_misses_nothing(stage: Stage, proxy: WatchProxy) -> None:
    # no list for an hour: what is seen is seen by the watches
    await stage.operate(KUBECONFIG=str(proxy.kubeconfig), SENDONCE_RESYNC_SECONDS="3600")
    await stage.apply(provider(stage.simulator), *(campaign(name, schedule=LATER) for name in ("spring", "autumn")))
    for name in ("spring", "autumn"):
        await stage.until_condition(name, "Ready", "True", "Scheduled")
    proxy.keep_back(*WATCHED)
    await stage.apply(campaign("summer", count=5))
    await stage.patch("spring", {"suspend": True})
    await stage.kubectl("delete", "nc", "autumn", "--wait=false")
    assert proxy.break_off(410, *WATCHED) == len(WATCHED)
    await stage.until_complete("summer")
    await stage.until_condition("spring", "Suspended", "True", "SpecSuspend")
    await stage.until_gone("autumn")
    stage.assert_each_got_one(5)
