"""What a person, and a tool, sees of campaigns and providers while the operator looks after them."""

from __future__ import annotations

import json
from typing import Any

from tests.cluster.operator.stage import MANY, SLOW, Stage, campaign, condition, provider

LATER = {"startAt": "2099-01-01T00:00:00Z"}


def message_of(found: dict[str, Any] | None, kind: str) -> str:
    conditions = (found or {}).get("status", {}).get("conditions", [])
    return next((str(one["message"]) for one in conditions if one["type"] == kind), "")


async def test_kubectl_wait_returns_when_a_campaign_is_complete_or_has_ended(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring"))
    await stage.kubectl("wait", "--for=condition=Complete", "nc/spring", "--timeout=60s")
    await stage.kubectl("wait", "--for=jsonpath={.status.completionTime}", "nc/spring", "--timeout=1s")
    shown = await stage.kubectl("get", "nc", "spring")
    assert shown.split("\n")[1].split()[:4] == ["spring", "AllSent", "3", "3"]


async def test_a_status_is_small_and_says_nothing_about_a_person(stage: Stage) -> None:
    await stage.operate()
    await stage.far_end(permanent=1.0)
    await stage.apply(provider(stage.simulator), campaign("spring", count=20))
    found = await stage.until_complete("spring")
    text = json.dumps(found["status"])
    assert len(text) < 8 * 1024
    assert "@example.com" not in text
    assert found["status"]["topErrors"][0]["count"] == 20


async def test_workers_that_no_node_takes_are_told_with_the_schedulers_words(stage: Stage) -> None:
    stage.pods.open.clear()
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring"))

    def told(found: dict[str, Any] | None) -> bool:
        return "no nodes available to schedule pods" in message_of(found, "Ready")

    found = await stage.until("spring", told, "the reason is shown within a minute", seconds=60)
    assert found is not None
    assert found["status"]["workers"] == {"desired": 1, "ready": 0}
    stage.pods.open.set()
    await stage.until_complete("spring")
    stage.assert_each_got_one(3)


async def crash(stage: Stage, words: str) -> None:
    """Write into the campaign's Pods what a kubelet does when the worker ends again and again with these words."""
    ended = {"exitCode": 2, "reason": "Error", "message": words, "finishedAt": "2026-11-01T10:00:00Z"}
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}}
    worker = {"name": "worker", "image": "i", "imageID": "i", "ready": False, "restartCount": 3}
    told = {**worker, "state": state, "lastState": {"terminated": ended}}
    path = f"/api/v1/namespaces/{stage.namespace}/pods"

    async def exist() -> bool:
        return bool((await stage.api.get(path))["items"])

    await stage.until_true(exist, "there are Pods")
    for pod in (await stage.api.get(path))["items"]:
        await stage.api.patch(f"{path}/{pod['metadata']['name']}/status", {"status": {"containerStatuses": [told]}})


async def test_credentials_that_are_not_there_are_told_by_campaign_and_provider(stage: Stage) -> None:
    await stage.operate()
    document = provider(stage.simulator, credentialsSecretRef={"name": "keys"})
    await stage.apply(document, campaign("spring"))
    await crash(stage, "SecretNotFound: Secret keys is not there, or is empty")
    found = await stage.until_condition("spring", "Stalled", "True", "SecretNotFound")
    assert "Secret keys" in message_of(found, "Stalled")
    await stage.until_condition("api", "Ready", "False", "SecretNotFound", of="NotificationProvider")
    stage.write_file("secrets/keys/token", "secret")
    await stage.until_complete("spring")
    await stage.until_condition("api", "Ready", "True", of="NotificationProvider")


async def test_a_far_end_that_asks_to_wait_throttles_the_provider_and_stalls_nothing(stage: Stage) -> None:
    await stage.operate()
    await stage.simulator.control({"chances": {"throttle": 1.0}, "retry_after": 15})
    await stage.apply(provider(stage.simulator), campaign("spring"))
    found = await stage.until_condition("api", "Throttled", "True", of="NotificationProvider")
    assert condition(found, "Ready")[0] == "True"
    assert found["status"]["pausedUntil"]
    assert condition(await stage.get("spring"), "Stalled") == ("", "")
    await stage.far_end()
    await stage.until_complete("spring")
    await stage.until_condition("api", "Throttled", "False", of="NotificationProvider")


async def test_a_provider_whose_object_is_deleted_stops_its_campaigns_until_it_is_made_again(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=MANY))
    await stage.until("spring", lambda found: condition(found, "Imported")[0] == "True", "it sends")
    await stage.kubectl("delete", "np", "api", "--timeout=30s")
    await stage.until_condition("spring", "Ready", "True", "ProviderPaused")
    await stage.hurry()
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)


async def test_workers_keep_their_secret_while_the_provider_is_gone_and_are_not_restarted(stage: Stage) -> None:
    stage.write_file("secrets/keys/token", "secret")
    await stage.operate()
    secret = {"name": "keys"}
    slow = provider(stage.simulator, limits=SLOW, credentialsSecretRef=secret)
    await stage.apply(slow, campaign("spring", count=MANY))
    await stage.until_replicas("spring", 1)
    before = await stage.deployment("spring")
    await stage.kubectl("delete", "np", "api", "--timeout=30s")
    await stage.until_condition("spring", "Ready", "True", "ProviderPaused")
    after = await stage.deployment("spring")
    assert before is not None
    assert after is not None
    assert after["spec"]["template"] == before["spec"]["template"]
    await stage.hurry(credentialsSecretRef=secret)
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)


async def test_on_standby_campaigns_are_accepted_and_held(stage: Stage) -> None:
    operator = await stage.operate(SENDONCE_MODE="Standby")
    await stage.apply(provider(stage.simulator), campaign("spring"))
    found = await stage.until_condition("spring", "Suspended", "True", "Standby")
    assert condition(found, "Accepted")[0] == "True"
    assert await stage.replicas("spring") in {None, 0}
    assert await operator.stop() == 0
    await stage.operate()
    await stage.until_complete("spring")
    stage.assert_each_got_one(3)


async def test_a_deployment_that_somebody_changes_is_put_right(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator, limits=SLOW), campaign("spring", count=MANY))
    await stage.until_replicas("spring", 1)
    await stage.kubectl("scale", "deployment", "sendonce-spring", "--replicas=3")
    await stage.until_replicas("spring", 1)
    await stage.kubectl("delete", "deployment", "sendonce-spring")
    await stage.until_replicas("spring", 1)
    await stage.hurry()
    await stage.until_complete("spring")
    stage.assert_each_got_one(MANY)


async def test_somebody_elses_deployment_of_the_name_is_left_alone(stage: Stage) -> None:
    labels = {"app": "theirs"}
    container = {"name": "main", "image": "example.invalid/theirs"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    theirs = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "sendonce-spring"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }
    await stage.apply(theirs)
    operator = await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring"))
    await stage.until_condition("spring", "Accepted", "True")

    async def told() -> bool:
        return "belongs to somebody else" in operator.words

    await stage.until_true(told, "it is told")
    found = await stage.deployment("spring")
    assert found is not None
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "example.invalid/theirs"
