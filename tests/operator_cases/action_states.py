"""Situations of an action for every state that its conditions know, with what tools make of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.operator_cases.situations import NOW, SUBJECT

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.actions import ActionSituation
from sendonce_operator.decisions.facts import Refusal, Subject
from sendonce_store.actions import Applied
from sendonce_store.spec import ActionStatus

ACTION: Subject[ActionStatus] = Subject(
    "9a", "shop", "spring-retry-1", 1, "1", SUBJECT.created_at, deleting=False, annotations={}, status=None
)
APPLIED = Applied(12, 10, "10 of 12 deliveries changed")


def looked(**changes: Any) -> ActionSituation:
    return replace(ActionSituation(ACTION, NOW), **changes)


STATES = [
    (looked(), {"Reconciling": "True", "Complete": "False", "Failed": "False"}, "InProgress", "Progressing"),
    (looked(applied=APPLIED), {"Complete": "True", "Failed": "False"}, "Current", "Healthy"),
    (looked(refused="gone"), {"Stalled": "True", "Complete": "False", "Failed": "True"}, "Failed", "Degraded"),
    (
        looked(refusal=Refusal("CampaignNotFound", "x", stalled=True)),
        {"Stalled": "True", "Complete": "False", "Failed": "False"},
        "Failed",
        "Degraded",
    ),
    (
        looked(refusal=refusal.invalid_field("spec.resolveAs", "why")),
        {"Stalled": "True", "Complete": "False", "Failed": "False"},
        "Failed",
        "Degraded",
    ),
    (
        looked(refusal=refusal.missing(ACTION, "x", NOW, "CampaignNotFound")),
        {"Reconciling": "True", "Complete": "False", "Failed": "False"},
        "InProgress",
        "Progressing",
    ),
    (
        looked(refusal=refusal.store_unavailable("x")),
        {"Reconciling": "True", "Complete": "False", "Failed": "False"},
        "InProgress",
        "Progressing",
    ),
]
