"""A Deployment is written only when every provider that it mounts Secrets of is known."""

from __future__ import annotations

from datetime import timedelta

from tests.operator_cases.situations import sending
from tests.unit.operator_io.conftest import PROVIDER_BODY, Recorder

from sendonce_operator.cluster import Object
from sendonce_operator.decisions.status import status
from sendonce_operator.deployments import deploy
from sendonce_operator.objects import PROVIDER, Campaign, key_of
from sendonce_operator.runtime import Runtime, Tracked
from sendonce_operator.showing import situation_of


def restarted(runtime: Runtime) -> None:
    """What an operator knows that has listed campaigns and Deployments, but no providers yet."""
    runtime.watched.forget([key_of(PROVIDER, PROVIDER_BODY)])


async def test_no_workers_are_made_before_the_provider_is_known(
    runtime: Runtime, campaign: Campaign, cluster: Recorder
) -> None:
    await deploy(runtime, campaign, 2)
    assert cluster.writes == []
    runtime.watched.note(PROVIDER, PROVIDER_BODY)
    await deploy(runtime, campaign, 2)
    assert [kind for kind, _ in cluster.writes] == ["apply"]
    assert "keys" in str(cluster.writes[0][1]["spec"]["template"])


async def test_workers_are_left_as_they_are_until_the_provider_is_known_again(
    runtime: Runtime, campaign: Campaign, cluster: Recorder
) -> None:
    runtime.watched.note(PROVIDER, PROVIDER_BODY)
    await deploy(runtime, campaign, 2)
    restarted(runtime)
    await deploy(runtime, campaign, 2)
    await deploy(runtime, campaign, 3)
    assert len(cluster.writes) == 1


async def test_workers_go_home_also_while_the_provider_is_not_known(
    runtime: Runtime, campaign: Campaign, cluster: Recorder
) -> None:
    runtime.watched.note(PROVIDER, PROVIDER_BODY)
    await deploy(runtime, campaign, 2)
    restarted(runtime)
    await deploy(runtime, campaign, 0)
    await deploy(runtime, campaign, 0)
    assert cluster.writes[1:] == [("patch", {"metadata": {"uid": "d"}, "spec": {"replicas": 0}})]


def test_a_status_is_made_with_the_pace_of_the_providers(runtime: Runtime, campaign: Campaign) -> None:
    runtime.watched.note(PROVIDER, PROVIDER_BODY)
    situation = situation_of(runtime, campaign, Tracked(campaign.subject.uid), None)
    assert [provider.per_second for provider in situation.providers] == [5.0]


async def test_a_deployment_of_somebody_else_is_left_alone_and_the_status_says_so(
    runtime: Runtime, campaign: Campaign, cluster: Recorder
) -> None:
    runtime.watched.note(PROVIDER, PROVIDER_BODY)
    theirs: Object = {"metadata": {"name": "sendonce-spring", "uid": "theirs"}, "spec": {"replicas": 1}}
    cluster.live = theirs
    await deploy(runtime, campaign, 2)
    assert cluster.writes == []
    tracked = runtime.track(campaign)
    assert tracked.name_taken is not None
    tracked.name_taken -= timedelta(minutes=1)
    wire = status(situation_of(runtime, campaign, tracked, sending(workers_alive=0)))
    stalled = next(one for one in wire["conditions"] if one["type"] == "Stalled")
    assert stalled["reason"] == "WorkersUnavailable"
    assert stalled["message"].startswith("Deployment sendonce-spring is there already")
    cluster.live = None
    await deploy(runtime, campaign, 2)
    assert tracked.name_taken is None
