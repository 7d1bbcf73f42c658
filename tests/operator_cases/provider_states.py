"""Situations of a provider for every state that its conditions know: what `Ready` says, and what tools make of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.operator_cases.situations import NOW, SUBJECT

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.facts import Refusal, Subject
from sendonce_operator.decisions.providers import ProviderSituation
from sendonce_store.spec import ProviderSpec, ProviderStatus

SPEC = ProviderSpec.from_wire({"type": "SMTP", "smtp": {"host": "mail.example.com"}})
LATER = NOW + timedelta(minutes=5)
INVALID = Refusal("InvalidSpec", "spec.smtp.host: is required", stalled=True)
PROVIDER: Subject[ProviderStatus] = Subject(
    SUBJECT.uid, SUBJECT.namespace, "smtp", 1, "1", SUBJECT.created_at, deleting=False, annotations={}, status=None
)


def looked(**changes: Any) -> ProviderSituation:
    return replace(ProviderSituation(PROVIDER, NOW, SPEC), **changes)


STATES = [
    (looked(), ("True", "Configured"), "Current", "Healthy"),
    (looked(paused_until=LATER, pause_code="429"), ("True", "Configured"), "Current", "Healthy"),
    (looked(spec=SPEC.model_copy(update={"suspend": True})), ("True", "Suspended"), "Current", "Suspended"),
    (
        looked(spec=SPEC.model_copy(update={"suspend": True}), rejected="535: no"),
        ("True", "Suspended"),
        "Current",
        "Suspended",
    ),
    (looked(paused_until=LATER, pause_code="connect_failed"), ("True", "Configured"), "Current", "Healthy"),
    (looked(rejected="535: no"), ("False", "CredentialsRejected"), "Failed", "Degraded"),
    (looked(secret_missing="SecretNotFound: x"), ("False", "SecretNotFound"), "Failed", "Degraded"),
    (
        looked(spec=None, refusal=INVALID),
        ("False", "InvalidSpec"),
        "Failed",
        "Degraded",
    ),
    (looked(refusal=refusal.store_unavailable("x")), ("Unknown", "StoreUnavailable"), "InProgress", "Progressing"),
]
