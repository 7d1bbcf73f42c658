"""How workers' Pods look where their campaign says nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.operator_cases.situations import DEFAULTS, SUBJECT, spec

from sendonce_operator.decisions.deployment import deployment, is_current
from sendonce_operator.decisions.worker_defaults import read_worker_defaults
from sendonce_operator.settings import read_settings
from sendonce_store.environment import SettingsError

NEEDED = {"SENDONCE_DSN": "postgresql:///store", "SENDONCE_WORKER_IMAGE": "worker:1"}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
AFFINITY: dict[str, Any] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
GIVEN: dict[str, Any] = {
    "resources": {"requests": {"cpu": "2"}},
    "podLabels": {"team": "platform", "cost": "a"},
    "podAnnotations": {"note": "default", "mesh": "off"},
    "nodeSelector": {"pool": "batch"},
    "tolerations": [{"key": "batch", "operator": "Exists"}],
    "affinity": AFFINITY,
    "topologySpreadConstraints": [SPREAD],
    "priorityClassName": "low",
    "imagePullSecrets": [{"name": "registry"}],
    "env": {"HTTPS_PROXY": "http://proxy.example:3128", "SENDONCE_NAMESPACE": "not this"},
}


def template(workers: dict[str, Any] | None = None, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The Pod template with the defaults, as the settings give them."""
    settings = read_settings({**NEEDED, "SENDONCE_WORKER_DEFAULTS": json.dumps(GIVEN if given is None else given)})
    found: dict[str, Any] = deployment(SUBJECT, spec(workers=workers or {}), (), 1, settings.defaults)["spec"]
    return found["template"]  # type: ignore[no-any-return]


def test_the_defaults_hold_where_the_campaign_says_nothing() -> None:
    pod = template()["spec"]
    assert {name: pod[name] for name in GIVEN if name in pod} == {
        "nodeSelector": {"pool": "batch"},
        "tolerations": [{"key": "batch", "operator": "Exists"}],
        "affinity": AFFINITY,
        "topologySpreadConstraints": [SPREAD],
        "priorityClassName": "low",
        "imagePullSecrets": [{"name": "registry"}],
    }
    assert pod["containers"][0]["resources"] == {"requests": {"cpu": "2"}}


def test_the_campaign_wins() -> None:
    own = {
        "resources": {"limits": {"memory": "1Gi"}},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "mine"}],
        "priorityClassName": "high",
        "imagePullSecrets": [{"name": "own"}, {"name": "registry"}],
    }
    pod = template(own)["spec"]
    assert pod["nodeSelector"] == {"disk": "ssd"}
    assert [one["key"] for one in pod["tolerations"]] == ["mine"]
    assert pod["priorityClassName"] == "high"
    assert pod["imagePullSecrets"] == [{"name": "own"}, {"name": "registry"}]
    assert pod["containers"][0]["resources"] == {"limits": {"memory": "1Gi"}}


def test_labels_and_annotations_are_put_together_and_those_that_workers_are_found_by_stay() -> None:
    given = {**GIVEN, "podLabels": {**GIVEN["podLabels"], "sendonce.dev/campaign": "another"}}
    metadata = template({"podLabels": {"team": "shop"}, "podAnnotations": {"note": "mine"}}, given)["metadata"]
    assert (metadata["labels"]["team"], metadata["labels"]["cost"]) == ("shop", "a")
    assert metadata["labels"]["sendonce.dev/campaign"] == "spring"
    assert (metadata["annotations"]["note"], metadata["annotations"]["mesh"]) == ("mine", "off")


def test_further_variables_never_win_over_the_worker_s_own() -> None:
    environment = {one["name"]: one["value"] for one in template()["spec"]["containers"][0]["env"]}
    assert environment["HTTPS_PROXY"] == "http://proxy.example:3128"
    assert environment["SENDONCE_NAMESPACE"] == "shop"


def test_without_defaults_the_pod_is_as_it_always_was() -> None:
    bare = deployment(SUBJECT, spec(), (), 1, DEFAULTS)
    assert bare["spec"]["template"] == {**template(given={})} | {"spec": bare["spec"]["template"]["spec"]}
    assert "affinity" not in template(given={})["spec"]


def test_a_change_of_the_defaults_changes_the_manifest() -> None:
    before = deployment(SUBJECT, spec(), (), 1, DEFAULTS)
    pods = read_worker_defaults('{"nodeSelector": {"pool": "batch"}}')
    assert not is_current(before, deployment(SUBJECT, spec(), (), 1, replace(DEFAULTS, pods=pods)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "the whole: Invalid JSON"),
        ('{"nodeSelectors": {}}', "nodeSelectors: "),
        ('{"podLabels": {"team": "not valid!"}}', "podLabels.team: "),
        ('{"resources": {"requests": {"cpu": "much"}}}', 'resources.requests.cpu: must be a quantity such as "500m"'),
        ('{"tolerations": [{"effect": "Never"}]}', "tolerations.0.effect: "),
        ('{"env": {"A": 1}}', "env.A: "),
        ("[]", "the whole: "),
    ],
)
def test_what_is_wrong_is_named(text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({**NEEDED, "SENDONCE_WORKER_DEFAULTS": text})
    assert str(caught.value).startswith(f"SENDONCE_WORKER_DEFAULTS: {words}")
