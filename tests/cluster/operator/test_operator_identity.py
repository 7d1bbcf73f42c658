"""Whose campaign is it: deleted and applied again, copied, restored, in conflict, edited at the worst moment."""

from __future__ import annotations

from datetime import datetime

import pytest
from tests.cluster.operator.stage import Stage, action, campaign, condition, provider

from sendonce_operator.decisions.facts import LEDGER_ANNOTATION
from sendonce_store.connection import connect

LATER = {"startAt": "2099-01-01T00:00:00Z"}


async def test_a_campaign_that_is_deleted_and_applied_again_is_not_sent_again(stage: Stage) -> None:
    await stage.operate()
    document = campaign("spring", count=5)
    await stage.apply(provider(stage.simulator), document)
    await stage.until_complete("spring")
    await stage.kubectl("delete", "nc", "spring", "--timeout=30s")
    assert await stage.get("spring") is None
    # an object's creation time has whole seconds: ended and applied again within one
    async with await connect(stage.dsn) as conn:
        await conn.execute("UPDATE sendonce.campaigns SET completed_at = now()")
        cursor = await conn.execute("SELECT date_trunc('second', completed_at) AS at FROM sendonce.campaigns")
        ended = await cursor.fetchone()
    await stage.apply(document)
    again = await stage.until_condition("spring", "Complete", "True", "AlreadySent")
    assert condition(again, "Ready") == ("True", "AlreadySent")
    assert ended == {"at": datetime.fromisoformat(again["status"]["completionTime"])}
    assert again["status"]["deliveries"]["sent"] == 5
    stage.assert_each_got_one(5)


async def test_deleting_takes_the_workers_with_it(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring", schedule=LATER))
    await stage.until_condition("spring", "Imported", "True")
    assert await stage.deployment("spring") is not None
    await stage.kubectl("delete", "nc", "spring", "--timeout=30s")
    await stage.until_replicas("spring", None)


async def test_an_unfinished_campaign_that_is_deleted_ends_as_cancelled_and_stays_so(stage: Stage) -> None:
    await stage.operate()
    document = campaign("spring", count=5, schedule=LATER)
    await stage.apply(provider(stage.simulator), document)
    await stage.until_condition("spring", "Imported", "True")
    await stage.kubectl("delete", "nc", "spring", "--timeout=30s")
    await stage.apply(document)
    again = await stage.until_condition("spring", "Failed", "True", "Cancelled")
    assert again["status"]["deliveries"]["cancelled"] == 5
    assert not stage.received()


async def test_other_content_under_a_known_send_key_is_a_conflict_and_sends_nothing(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring", count=2))
    await stage.until_complete("spring")
    await stage.kubectl("delete", "nc", "spring", "--timeout=30s")
    await stage.apply(campaign("spring", count=3))
    found = await stage.until_condition("spring", "Stalled", "True", "SendKeyConflict")
    assert condition(found, "Accepted") == ("False", "SendKeyConflict")
    assert await stage.deployment("spring") is None
    stage.assert_each_got_one(2)


async def test_a_second_object_with_the_send_key_of_a_living_one_is_a_conflict_until_that_one_goes(
    stage: Stage,
) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("first", sendKey="one", schedule=LATER))
    await stage.until_condition("first", "Imported", "True")
    await stage.apply(campaign("second", sendKey="one", schedule=LATER))
    await stage.until_condition("second", "Stalled", "True", "SendKeyConflict")
    await stage.kubectl("delete", "nc", "second", "--timeout=30s")
    first = await stage.until_condition("first", "Ready", "True", "Scheduled")
    assert first["status"]["deliveries"]["cancelled"] == 0, "a refused object ends nothing of the other's"


async def test_an_object_whose_store_is_gone_waits_for_a_person(stage: Stage) -> None:
    await stage.operate()
    document = campaign("spring", count=2)
    document["metadata"]["annotations"] = {LEDGER_ANNOTATION: "00000000-0000-0000-0000-000000000000"}
    await stage.apply(provider(stage.simulator), document)
    found = await stage.until_condition("spring", "Stalled", "True", "LedgerMissing")
    assert condition(found, "Ready")[0] == "False"
    assert not stage.received()
    await stage.apply(action("yes-send", "spring", "Resume"))
    await stage.until_complete("spring")
    await stage.until_condition("yes-send", "Complete", "True", of="NotificationAction")
    stage.assert_each_got_one(2)


async def test_an_object_that_is_restored_without_its_status_goes_on_as_it_was(stage: Stage) -> None:
    operator = await stage.operate()
    document = campaign("spring", count=5, schedule=LATER)
    await stage.apply(provider(stage.simulator), document)
    found = await stage.until_condition("spring", "Imported", "True")
    await operator.kill()
    # as a backup tool does it: the object is gone, finalizer and all, and comes back with its annotations
    await stage.api.patch(stage.key("NotificationCampaign", "spring").path, {"metadata": {"finalizers": None}})
    await stage.kubectl("delete", "nc", "spring", "--timeout=30s")
    document["metadata"]["annotations"] = {LEDGER_ANNOTATION: found["metadata"]["annotations"][LEDGER_ANNOTATION]}
    await stage.operate()
    await stage.apply(document)
    await stage.until_condition("spring", "Ready", "True", "Scheduled")
    await stage.patch("spring", {"schedule": None})
    await stage.until_complete("spring")
    stage.assert_each_got_one(5)


async def test_an_object_of_another_cluster_keeps_its_campaign_while_it_is_looked_after(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring", schedule=LATER))
    await stage.until_condition("spring", "Imported", "True")
    async with await connect(stage.dsn) as conn:
        await conn.execute(
            "UPDATE sendonce.campaigns SET owner_uid = 'elsewhere', owner_seen_at = now() + interval '1 hour'"
        )
        await stage.kubectl("delete", "nc", "spring", "--timeout=30s")
        await stage.apply(campaign("spring", schedule=LATER))
        await stage.until_condition("spring", "Stalled", "True", "SendKeyConflict")
        cursor = await conn.execute("SELECT owner_uid, cancelled_at FROM sendonce.campaigns")
        assert await cursor.fetchone() == {"owner_uid": "elsewhere", "cancelled_at": None}
        # it falls silent
        await conn.execute("UPDATE sendonce.campaigns SET owner_seen_at = now() - interval '1 hour'")
    await stage.until_condition("spring", "Ready", "True", "Scheduled")


async def test_an_expired_object_is_deleted_and_what_applies_it_again_sees_it_as_sent(stage: Stage) -> None:
    await stage.operate()
    document = campaign("spring", count=2, ttlSecondsAfterFinished=0)
    await stage.apply(provider(stage.simulator), document)
    await stage.until_gone("spring")
    stage.assert_each_got_one(2)
    again = campaign("spring", count=2, ttlSecondsAfterFinished=3600)
    await stage.apply(again)
    await stage.until_condition("spring", "Complete", "True", "AlreadySent")
    stage.assert_each_got_one(2)


@pytest.mark.parametrize("change", [{"category": "Marketing"}, {"topic": "other"}])
async def test_content_is_frozen_once_it_has_started(stage: Stage, change: dict[str, str]) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring", schedule=LATER))
    await stage.until_condition("spring", "Imported", "True")
    with pytest.raises(Exception, match="is frozen once the campaign has started"):
        await stage.patch("spring", change)
