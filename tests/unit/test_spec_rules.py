"""Each rule over several fields: one document that keeps it, one that breaks it, and where it is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError
from tests.spec_cases.bodies import CP, LINE, QUIET, C, P, campaign
from tests.spec_cases.rules import CASES

from sendonce_store.spec import RULES, NotificationCampaign, SpecError, SpecModel, load_documents

IDS = [f"{name}-{field}" for name, _, _, _, field in CASES]


def message_of(kind: type[SpecModel], name: str) -> str:
    return next(rule.message for rule in RULES[kind] if rule.name == name)


def as_document(kind: type[SpecModel], body: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "sendonce.dev/v1alpha1", "kind": kind.__name__, **body})


@pytest.mark.parametrize(("name", "kind", "keeps", "breaks", "field"), CASES, ids=IDS)
def test_a_rule_refuses_what_breaks_it_and_names_the_field(
    name: str,
    kind: type[SpecModel],
    keeps: dict[str, Any],
    breaks: dict[str, Any],
    field: str,
) -> None:
    load_documents(as_document(kind, keeps), "x.yaml")
    with pytest.raises(SpecError) as refused:
        load_documents(as_document(kind, breaks), "x.yaml")
    assert [(p.field, p.message) for p in refused.value.problems] == [(field, message_of(kind, name))]


def test_every_rule_of_the_tables_has_a_case() -> None:
    tested = {(kind, name) for name, kind, *_ in CASES}
    tested |= {(CP, name) for kind, name in tested if kind is P}
    assert {(kind, rule.name) for kind, rules in RULES.items() for rule in rules} == tested


def test_a_model_that_is_made_in_python_keeps_the_rules_too() -> None:
    with pytest.raises(ValidationError, match="exactly one source is needed"):
        NotificationCampaign.from_wire(campaign(recipients={}))


def test_breaches_in_different_objects_are_reported_together() -> None:
    broken = campaign(
        recipients={},
        messages=[LINE | {"template": {"html": "x"}}],
        schedule={"quietHours": QUIET | {"to": "21:00"}},
        retry={"initialDelaySeconds": 601},
    )
    with pytest.raises(SpecError) as refused:
        load_documents(as_document(C, broken), "x.yaml")
    assert {p.field for p in refused.value.problems} == {
        "spec.recipients",
        "spec.messages[0].template.html",
        "spec.schedule.quietHours.to",
        "spec.retry.initialDelaySeconds",
    }
