"""What people wish while a campaign runs: suspend, resume, cancel, edits, and the four actions."""

from __future__ import annotations

from tests.cluster.operator.stage import MANY, SLOW, Stage, action, campaign, condition, provider, sent

from sendonce_store.connection import connect

# a canary of two is not sent before long
FIRST_ALONE = [{"messages": 1, "periodSeconds": 600, "burst": 1}]
LATER = {"startAt": "2099-01-01T00:00:00Z"}


async def test_a_suspended_campaign_has_no_workers_and_goes_on_where_it_was(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=MANY))
    await stage.until("spring", lambda found: sent(found) >= 3, "some are sent")
    await stage.patch("spring", {"suspend": True})
    found = await stage.until_condition("spring", "Suspended", "True", "SpecSuspend")
    assert condition(found, "Ready") == ("True", "Suspended")
    await stage.until_replicas("spring", 0)
    await stage.patch("spring", {"suspend": False})
    await stage.hurry()
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)


async def test_a_cancelled_campaign_fails_with_its_rest_unsent_and_its_counts_add_up(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=MANY))
    await stage.until("spring", lambda found: sent(found) >= 3, "some are sent")
    await stage.patch("spring", {"cancel": True})
    found = await stage.until_condition("spring", "Failed", "True", "Cancelled")
    counts = found["status"]["deliveries"]
    assert counts["total"] == MANY == counts["sent"] + counts["cancelled"]
    assert counts["sent"] == stage.received().total()
    await stage.until_replicas("spring", 0)
    await stage.until_events("Cancelled")


async def test_a_campaign_that_is_cancelled_before_its_time_ends_without_a_worker(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring", schedule=LATER))
    await stage.until_condition("spring", "Ready", "True", "Scheduled")
    await stage.until_replicas("spring", 0)
    await stage.patch("spring", {"cancel": True})
    await stage.until_condition("spring", "Failed", "True", "Cancelled")


async def test_a_start_time_that_is_moved_after_the_start_counts(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring", schedule=LATER))
    await stage.until_condition("spring", "Ready", "True", "Scheduled")
    assert not stage.received()
    await stage.patch("spring", {"schedule": {"startAt": "2020-01-01T00:00:00Z"}})
    await stage.until_complete("spring")
    stage.assert_each_got_one(3)


async def test_a_provider_that_is_suspended_stops_its_campaigns_until_it_is_resumed(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=MANY))
    await stage.until("spring", lambda found: sent(found) >= 3, "some are sent")
    await stage.patch("api", {"suspend": True}, kind="NotificationProvider")
    await stage.until_condition("spring", "Ready", "True", "ProviderPaused")
    await stage.patch("api", {"suspend": False}, kind="NotificationProvider")
    await stage.hurry()
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)


async def test_a_pace_that_is_raised_while_sending_counts(stage: Stage) -> None:
    await stage.operate()
    slow = [{"messages": 1, "periodSeconds": 5, "burst": 1}]
    await stage.apply(provider(stage.simulator, limits=slow), campaign("spring", count=20))
    await stage.until("spring", lambda found: sent(found) >= 1, "one is sent")
    await stage.apply(provider(stage.simulator, limits=[{"messages": 1000, "periodSeconds": 1}]))
    await stage.until_complete("spring")
    stage.assert_each_got_one(20)


# --- actions ---------------------------------------------------------------------------------------------------------
async def test_retry_sends_to_those_who_failed_and_completes_the_campaign_anew(stage: Stage) -> None:
    await stage.operate()
    await stage.far_end(permanent=1.0)
    await stage.apply(provider(stage.simulator), campaign("spring", count=3))
    found = await stage.until_condition("spring", "Complete", "True", "SomeUndelivered")
    assert found["status"]["deliveries"]["failed"] == 3
    assert found["status"]["topErrors"][0]["count"] == 3
    assert "p1@example.com" not in str(found["status"])
    await stage.far_end()
    await stage.apply(action("spring-retry-1", "spring", "Retry", deliveries={"states": ["Failed"]}))
    done = await stage.until_condition("spring-retry-1", "Complete", "True", of="NotificationAction")
    assert (done["status"]["matched"], done["status"]["changed"]) == (3, 3)
    assert done["metadata"]["ownerReferences"][0]["name"] == "spring"
    await stage.until_condition("spring", "Complete", "True", "AllSent")
    stage.assert_each_got_one(3)


async def test_an_order_for_one_person_reaches_nobody_else_and_is_signed(stage: Stage) -> None:
    await stage.operate()
    await stage.far_end(permanent=1.0)
    await stage.apply(provider(stage.simulator), campaign("spring", count=3))
    await stage.until_condition("spring", "Complete", "True", "SomeUndelivered")
    await stage.far_end()
    out = action("out", "spring", "Suppress", deliveries={"recipients": ["line:1"]})
    again = action("again", "spring", "Retry", deliveries={"recipients": ["line:1", "line:2"]})
    again["metadata"]["annotations"] = {"sendonce.dev/requested-by": "mia"}
    await stage.apply(out)
    done = await stage.until_condition("out", "Complete", "True", of="NotificationAction")
    assert condition(done, "Complete") == ("True", "Applied")
    await stage.apply(again)
    done = await stage.until_condition("again", "Complete", "True", of="NotificationAction")
    assert (done["status"]["matched"], done["status"]["changed"]) == (2, 2)
    await stage.until("spring", lambda found: sent(found) == 1, "one was let through")
    assert set(stage.received()) == {"p1@example.com"}  # whose line is the second
    async with await connect(stage.dsn) as conn:
        rows = await conn.execute("SELECT name, spec ->> 'requestedBy' AS who FROM sendonce.actions ORDER BY name")
        assert [(row["name"], row["who"]) for row in await rows.fetchall()] == [("again", "mia"), ("out", None)]


async def test_an_action_that_is_made_again_does_nothing(stage: Stage) -> None:
    await stage.operate()
    await stage.far_end(permanent=1.0)
    await stage.apply(provider(stage.simulator), campaign("spring", count=3))
    await stage.until_condition("spring", "Complete", "True", "SomeUndelivered")
    retry = action("once", "spring", "Retry")
    await stage.apply(retry)
    await stage.until_condition("once", "Complete", "True", of="NotificationAction")
    await stage.until_condition("spring", "Complete", "True", "SomeUndelivered")
    await stage.kubectl("delete", "na", "once", "--timeout=30s")
    await stage.far_end()
    await stage.apply(retry)
    await stage.until_condition("once", "Complete", "True", of="NotificationAction")
    assert not stage.received()


async def test_promote_lets_the_rest_follow_the_canary(stage: Stage) -> None:
    await stage.operate()
    canary = {"percent": 1, "minRecipients": 2, "observeSeconds": 0, "promotion": "Manual"}
    await stage.apply(provider(stage.simulator), campaign("spring", count=10, rollout={"canary": canary}))
    await stage.until_condition("spring", "Ready", "True", "AwaitingPromotion")
    assert stage.received().total() == 2
    await stage.apply(action("go", "spring", "Promote"))
    await stage.until_complete("spring")
    stage.assert_each_got_one(10)


async def test_promote_that_is_applied_with_its_campaign_waits_until_the_canary_has_been_sent(stage: Stage) -> None:
    await stage.operate()
    canary = {"percent": 1, "minRecipients": 2, "observeSeconds": 600, "promotion": "Manual"}
    promote = action("go", "spring", "Promote")
    spring = campaign("spring", count=10, rollout={"canary": canary})
    await stage.apply(provider(stage.simulator, limits=FIRST_ALONE), spring, promote)
    await stage.until_condition("go", "Reconciling", "True", "WaitingForCanary", of="NotificationAction")
    await stage.hurry()
    await stage.until_complete("spring")
    stage.assert_each_got_one(10)


async def test_resume_releases_a_tripped_breaker(stage: Stage) -> None:
    await stage.operate()
    await stage.far_end(permanent=1.0)
    breaker = {"maxFailedPercent": 10, "minDeliveries": 5}
    await stage.apply(
        provider(stage.simulator, limits=SLOW),
        campaign("spring", count=MANY, failurePolicy={**breaker, "action": "Suspend"}),
    )
    await stage.until_condition("spring", "Stalled", "True", "FailureThreshold")
    await stage.until_replicas("spring", 0)
    await stage.far_end()
    await stage.apply(action("go-on", "spring", "Resume"))
    await stage.hurry()
    await stage.until_complete("spring")
    assert max(stage.received().values()) == 1


async def test_resolve_decides_what_is_uncertain(stage: Stage) -> None:
    await stage.operate()
    await stage.far_end(hang=1.0)
    unkeyed = provider(stage.simulator, timeoutSeconds=1)
    del unkeyed["spec"]["http"]["idempotencyKeyHeader"], unkeyed["spec"]["http"]["keyWindowSeconds"]
    await stage.apply(unkeyed, campaign("spring", count=2))
    found = await stage.until_condition("spring", "Complete", "True", "SomeUndelivered")
    assert found["status"]["deliveries"]["uncertain"] == 2
    await stage.apply(action("they-got-it", "spring", "Resolve", resolveAs="Sent"))
    await stage.until_condition("they-got-it", "Complete", "True", of="NotificationAction")
    await stage.until_condition("spring", "Complete", "True", "AllSent")


async def test_an_action_for_a_campaign_that_is_not_there_says_so(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(action("lost", "nowhere", "Resume"))

    def waits(found: dict[str, object] | None) -> bool:
        return "nowhere" in str((found or {}).get("status"))

    await stage.until("lost", waits, "it says what is missing", kind="NotificationAction")
    await stage.apply(provider(stage.simulator), campaign("nowhere", suspend=True))
    await stage.until_condition("lost", "Complete", "True", of="NotificationAction")
