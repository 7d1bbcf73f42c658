"""`kubectl campaign` while an operator and workers run: orders are carried out, and the plugin says what they did."""

from __future__ import annotations

import asyncio

from tests.cluster.kubectl.person import Person, person_of
from tests.cluster.operator.stage import MANY, SLOW, Stage, campaign, provider

CANARY = {"percent": 1, "minRecipients": 2, "observeSeconds": 0, "promotion": "Manual"}


async def editor_of(stage: Stage) -> Person:
    return await asyncio.to_thread(person_of, stage.cluster, "editor", stage.namespace, stage.folder)


async def test_a_broken_campaign_is_resumed_watched_to_its_end_and_its_dead_letters_are_retried(stage: Stage) -> None:
    await stage.operate()
    editor = await editor_of(stage)
    await stage.far_end(permanent=1.0)
    breaker = {"maxFailedPercent": 10, "minDeliveries": 3, "action": "Suspend"}
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=MANY, failurePolicy=breaker))
    await stage.until_condition("spring", "Stalled", "True", "FailureThreshold")
    assert "kubectl campaign resume spring" in (await editor.later("status", "spring")).out
    await stage.far_end()
    assert (await editor.later("resume", "spring")).out.endswith(" applied: resumed\n")
    await stage.hurry()
    watched = await editor.later("status", "spring", "-w")
    assert (watched.code, watched.out.splitlines()[-1].split()[:2]) == (1, ["spring", "SomeUndelivered"])
    detail = await editor.later("status", "spring")
    assert "kubectl campaign deadletters spring" in detail.out
    assert "example.com" not in detail.out
    ran = await editor.later("retry", "spring")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("notificationaction.sendonce.dev/spring-retry-")
    assert ran.out.endswith(" deliveries changed\n")
    await stage.until_condition("spring", "Complete", "True", "AllSent")
    assert (await editor.later("status", "spring", "-w")).code == 0
    stage.assert_each_got_one(MANY)


async def test_a_campaign_is_promoted_suspended_resumed_and_cancelled(stage: Stage) -> None:
    await stage.operate()
    editor = await editor_of(stage)
    await stage.apply(provider(stage.simulator), campaign("spring", count=MANY, rollout={"canary": CANARY}))
    await stage.until_condition("spring", "Ready", "True", "AwaitingPromotion")
    await stage.apply(provider(stage.simulator, limits=SLOW))
    await stage.until_condition("api", "Ready", "True", of="NotificationProvider")
    refused = await editor.later("resume", "spring")
    assert (refused.code, "kubectl campaign promote" in refused.err) == (1, True)
    assert (await editor.later("promote", "spring")).out.endswith(" applied: promoted\n")
    await stage.until("spring", lambda found: stage.received().total() > 3, "the rest follows")
    ran = await editor.later("suspend", "spring")
    assert (ran.code, ran.out) == (0, "notificationcampaign.sendonce.dev/spring suspended\n")
    await stage.until_condition("spring", "Suspended", "True", "SpecSuspend")
    assert (await editor.later("resume", "spring")).out.endswith("/spring resumed\n")
    ran = await editor.later("cancel", "spring", "--yes")
    assert (ran.code, ran.out) == (0, "notificationcampaign.sendonce.dev/spring cancelled\n")
    await stage.until_condition("spring", "Failed", "True", "Cancelled")
    again = await editor.later("cancel", "spring", "--yes")
    assert (again.code, "has ended: Cancelled" in again.err) == (1, True)
    assert (await editor.later("status", "spring", "-w")).code == 1
