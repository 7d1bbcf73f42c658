"""What the API server can't see becomes a condition that says why, without rows or workers, and an edit cures it."""

from __future__ import annotations

import json
from typing import Any

from tests.cluster.operator.stage import Stage, campaign, condition, people, provider

from sendonce_store.connection import connect


async def rows(stage: Stage) -> int:
    """How many campaigns the store has."""
    async with await connect(stage.dsn) as conn:
        cursor = await conn.execute("SELECT count(*) AS count FROM sendonce.campaigns")
        row = await cursor.fetchone()
    return int(row["count"]) if row else 0


def message_of(found: dict[str, Any] | None, kind: str) -> str:
    conditions = (found or {}).get("status", {}).get("conditions", [])
    return next((str(one["message"]) for one in conditions if one["type"] == kind), "")


def config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def test_a_missing_provider_is_waited_for_and_named_and_the_campaign_goes_on_when_it_comes(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(campaign("spring"))
    found = await stage.until_condition("spring", "Ready", "Unknown", "WaitingForReference")
    assert condition(found, "Reconciling") == ("True", "WaitingForReference")
    assert "NotificationProvider api" in message_of(found, "Ready")
    assert await rows(stage) == 0
    assert await stage.deployment("spring") is None
    await stage.apply(provider(stage.simulator))
    await stage.until_complete("spring")


async def test_a_spec_that_the_model_refuses_names_the_field_and_is_cured_by_an_edit(stage: Stage) -> None:
    await stage.operate()
    hours = {"from": "21:00", "to": "09:00", "defaultTimezone": "Asia/Tokio", "unknownTimezonePolicy": "UseDefault"}
    document = campaign("spring", category="Marketing", schedule={"quietHours": hours})
    await stage.apply(provider(stage.simulator), document)
    found = await stage.until_condition("spring", "Stalled", "True", "InvalidSpec")
    assert condition(found, "Accepted") == ("False", "InvalidSpec")
    assert "spec.schedule.quietHours.defaultTimezone" in message_of(found, "Stalled")
    assert await rows(stage) == 0
    assert await stage.deployment("spring") is None
    await stage.patch("spring", {"schedule": None})
    await stage.until_complete("spring")


async def test_a_template_that_can_not_be_compiled_names_field_and_line_and_is_cured_by_an_edit(stage: Stage) -> None:
    await stage.operate()
    document = campaign("spring")
    messages = document["spec"]["messages"]
    template = messages[0]["template"]
    messages[0]["template"] = {**template, "text": "Hello\n{{ name | uper }}"}
    await stage.apply(provider(stage.simulator), document)
    found = await stage.until_condition("spring", "Stalled", "True", "InvalidSpec")
    assert condition(found, "Accepted") == ("False", "InvalidSpec")
    assert "spec.messages[0].template.text, line 2" in message_of(found, "Stalled")
    assert "upper" in message_of(found, "Stalled"), "what was meant"
    assert await rows(stage) == 0
    assert await stage.deployment("spring") is None
    messages[0]["template"] = template
    await stage.patch("spring", {"messages": messages})
    await stage.until_complete("spring")


async def test_a_missing_template_is_waited_for(stage: Stage) -> None:
    await stage.operate()
    document = campaign("spring")
    document["spec"]["messages"][0]["template"] = {"from": "a@example.com", "configMapRef": {"name": "letter"}}
    await stage.apply(provider(stage.simulator), document)
    found = await stage.until_condition("spring", "Ready", "Unknown", "WaitingForReference")
    assert "ConfigMap letter" in message_of(found, "Ready")
    assert await rows(stage) == 0
    await stage.apply(config_map("letter", {"text": "Hello"}))
    found = await stage.until_condition("spring", "Stalled", "True", "InvalidSpec")
    assert "subject" in message_of(found, "Stalled")
    await stage.apply(config_map("letter", {"subject": "Hello", "text": "Hello {{ name }}"}))
    await stage.until_complete("spring")


async def test_recipients_under_a_key_that_a_config_map_gets_late_are_imported_then(stage: Stage) -> None:
    await stage.operate()
    source = {"configMapKeyRef": {"name": "list", "key": "people.csv"}, "format": "CSV"}
    await stage.apply(config_map("list", {"others.csv": "id,email\n"}))
    await stage.apply(provider(stage.simulator), campaign("spring", recipients=source))
    found = await stage.until_condition("spring", "Ready", "Unknown", "WaitingForReference")
    assert "ConfigMap list with key people.csv" in message_of(found, "Ready")
    assert await rows(stage) == 0
    text = "id,email,name\np0,p0@example.com,A\np1,p1@example.com,B\n"
    stage.write_file("configmaps/list/people.csv", text)
    await stage.apply(config_map("list", {"people.csv": text}))
    await stage.until_complete("spring")
    stage.assert_each_got_one(2)


def cluster_provider(stage: Stage, name: str, labels: dict[str, str]) -> dict[str, Any]:
    allowed = {"from": "Selector", "selector": {"matchLabels": labels}}
    document = provider(stage.simulator, name, allowedNamespaces=allowed)
    document["kind"] = "ClusterNotificationProvider"
    return document


async def test_a_cluster_provider_serves_only_the_namespaces_that_it_allows(stage: Stage) -> None:
    await stage.operate()
    name = f"shared-{stage.namespace}"
    document = campaign("spring")
    document["spec"]["messages"][0]["providerRef"] = {"kind": "ClusterNotificationProvider", "name": name}
    await stage.apply(cluster_provider(stage, name, {"team": stage.namespace}), document)
    found = await stage.until_condition("spring", "Stalled", "True", "ProviderNotAllowed")
    assert stage.namespace in message_of(found, "Stalled")
    assert await rows(stage) == 0
    await stage.kubectl("label", "namespace", stage.namespace, f"team={stage.namespace}")
    await stage.until_complete("spring")
    await stage.kubectl("delete", "cnp", name)


async def test_a_large_spec_is_recorded(stage: Stage) -> None:
    """Kopf keeps what it handled in an annotation, and all annotations together may have 256 KiB."""
    await stage.operate()
    some = people(50)
    for one in some:
        one["variables"]["story"] = "x" * 4000
    document = campaign("spring", recipients={"inline": some})
    await stage.apply(provider(stage.simulator))
    await stage.kubectl("create", "-f-", stdin=json.dumps(document))
    found = await stage.until_complete("spring")
    kept = sum(len(value) for value in found["metadata"]["annotations"].values())
    assert kept < 8 * 1024
    stage.assert_each_got_one(50)


async def test_a_namespace_that_is_deleted_takes_its_campaigns_with_it(stage: Stage) -> None:
    await stage.operate()
    later = {"startAt": "2099-01-01T00:00:00Z"}
    await stage.apply(provider(stage.simulator), campaign("spring", schedule=later))
    await stage.until_condition("spring", "Ready", "True", "Scheduled")
    await stage.kubectl("delete", "namespace", stage.namespace, "--timeout=60s")
    async with await connect(stage.dsn) as conn:
        cursor = await conn.execute("SELECT ended, ended_reason, owner_uid FROM sendonce.campaigns")
        assert await cursor.fetchone() == {"ended": "failed", "ended_reason": "Cancelled", "owner_uid": None}
