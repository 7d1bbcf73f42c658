"""Two clusters with one store, the same namespace and the same campaign in both: one of them sends, nobody gets two."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from tests.cluster.operator.conftest import set_up, with_ours
from tests.cluster.operator.stage import MANY, SLOW, Stage, campaign, condition, provider
from tests.cluster.reach import Cluster

LATER = {"startAt": "2099-01-01T00:00:00Z"}
# a machine that is busy must not look like one that is gone
PATIENT = {"SENDONCE_OWNER_SECONDS": "300"}


@pytest_asyncio.fixture
async def other(stage: Stage, second_control_plane: Cluster, tmp_path: Path) -> AsyncIterator[Stage]:
    """Yield the stage's namespace in another cluster: the same store, the same far end."""
    folder = tmp_path / "other"
    folder.mkdir()
    cluster = with_ours(second_control_plane)
    async with set_up(cluster, stage.namespace, stage.dsn, folder, stage.simulator) as found:
        yield found


async def test_a_send_key_of_another_cluster_is_refused_until_its_owner_is_gone(stage: Stage, other: Stage) -> None:
    document = campaign("spring", count=20, schedule=LATER)
    for each in (stage, other):
        await each.operate(**PATIENT)
        await each.apply(provider(stage.simulator))
    await stage.apply(document)
    await stage.until_condition("spring", "Ready", "True", "Scheduled")
    await other.apply(document)
    refused = await other.until_condition("spring", "Stalled", "True", "SendKeyConflict")
    assert "not in this cluster" in str(refused["status"]["conditions"])
    assert await other.deployment("spring") is None
    await stage.patch("spring", {"schedule": None})
    sent = await stage.until_complete("spring")
    assert condition(await other.get("spring"), "Stalled") == ("True", "SendKeyConflict")
    await stage.kubectl("delete", "nc", "spring", "--timeout=30s")
    adopted = await other.until_complete("spring")
    assert adopted["status"]["deliveries"] == sent["status"]["deliveries"]
    assert await other.deployment("spring") is None
    stage.assert_each_got_one(20)


async def test_a_cluster_that_is_lost_in_the_middle_is_taken_over_from_and_nobody_gets_two(
    stage: Stage, other: Stage
) -> None:
    document = campaign("spring", count=MANY)
    operator = await stage.operate()
    await stage.apply(provider(stage.simulator, limits=SLOW), document)
    await stage.until_received(3)
    await operator.kill()
    stage.pods.open.clear()
    assert stage.pods.kill() >= 1
    await other.operate()
    await other.apply(provider(stage.simulator), document)
    done = await other.until_complete("spring")
    assert done["status"]["deliveries"]["sent"] == MANY
    stage.assert_each_got_one(MANY)
