"""Changes of stored objects: what they were, what they become, and the fields in which that is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.spec_cases.bodies import CP, EMAIL, FILE, LINE, SMS, SMTP, A, C, P, action, campaign, provider

from sendonce_store.spec import SpecModel

__all__ = ["CHANGES", "CONTENT", "STARTED", "Change"]

STARTED = {"observedGeneration": 1, "startTime": "2026-12-01T00:00:00Z"}
CONTENT: dict[str, Any] = {
    "category": "Transactional",
    "topic": "news",
    "recipients": FILE | {"format": "NDJSON"},
    "messages": [EMAIL | {"template": {"subject": "s", "text": "u"}}],
    "rollout": {"canary": {}},
}
REST: dict[str, Any] = {
    "priority": "High",
    "suspend": True,
    "cancel": True,
    "schedule": {"deadline": "2027-01-01T00:00:00Z"},
    "retry": {"factor": 2},
    "frequencyCap": {"messages": 3, "periodDays": 7},
    "uncertainPolicy": "Resend",
    "failurePolicy": {"action": "Continue"},
    "workers": {"max": 2},
    "ttlSecondsAfterFinished": 60,
    "dataRetentionDays": 1,
}


@dataclass(frozen=True)
class Change:
    """From `old` (with `status`) to `new`; `refused` are the fields that must not differ."""

    deed: str
    kind: type[SpecModel]
    old: dict[str, Any]
    new: dict[str, Any]
    refused: tuple[str, ...] = ()
    status: dict[str, Any] = field(default_factory=dict)


def allowed_namespaces(**spec: Any) -> dict[str, Any]:
    return provider(type="SMTP", smtp=SMTP, allowedNamespaces={"from": "All"}, **spec)


SMTP_PROVIDER = provider(type="SMTP", smtp=SMTP)
HTTP_PROVIDER = provider(type="HTTP", http={"url": "https://example.com"})
BOTH = [EMAIL, LINE | {"after": {"channel": "Email"}}]
VARIABLES: dict[str, Any] = {"email": "a@example.com", "variables": {"a": None, "b": [1, {"c": "d"}]}}


def inline_with(**variables: Any) -> dict[str, Any]:
    return campaign(recipients={"inline": [VARIABLES | {"variables": VARIABLES["variables"] | variables}]})


STREAM = campaign(recipients={"stream": {}})

CHANGES: list[Change] = [
    *(Change(f"{name} before the start", C, campaign(), campaign(**{name: to})) for name, to in CONTENT.items()),
    *(
        Change(f"{name} after the start", C, campaign(), campaign(**{name: to}), (f"spec.{name}",), STARTED)
        for name, to in CONTENT.items()
    ),
    *(
        Change(f"no {name} after the start", C, campaign(**{name: to}), campaign(), (f"spec.{name}",), STARTED)
        for name, to in CONTENT.items()
        if name in {"topic", "rollout"}
    ),
    Change(
        "all of the content after the start",
        C,
        campaign(),
        campaign(**CONTENT),
        tuple(f"spec.{name}" for name in CONTENT),
        STARTED,
    ),
    *(
        Change(f"{name} after the start", C, campaign(), campaign(**{name: to}), status=STARTED)
        for name, to in REST.items()
    ),
    Change("nothing after the start", C, campaign(**CONTENT), campaign(**CONTENT), status=STARTED),
    Change(
        "the order of messages after the start",
        C,
        campaign(messages=BOTH),
        campaign(messages=BOTH[::-1]),
        status=STARTED,
    ),
    Change(
        "one message more after the start",
        C,
        campaign(messages=BOTH),
        campaign(messages=[*BOTH, SMS]),
        ("spec.messages",),
        STARTED,
    ),
    Change("no variable after the start", C, inline_with(), inline_with(), status=STARTED),
    Change("a variable after the start", C, inline_with(), inline_with(a=0), ("spec.recipients",), STARTED),
    Change("a status that says no start", C, campaign(), campaign(topic="news"), status={"observedGeneration": 1}),
    Change("a send key", C, campaign(), campaign(sendKey="x"), ("spec.sendKey",)),
    Change("another send key", C, campaign(sendKey="x"), campaign(sendKey="y"), ("spec.sendKey",)),
    Change("no send key", C, campaign(sendKey="x"), campaign(), ("spec.sendKey",)),
    Change("the same send key", C, campaign(sendKey="x"), campaign(sendKey="x", topic="news")),
    Change("cancel", C, campaign(), campaign(cancel=True)),
    Change("cancel taken back", C, campaign(cancel=True), campaign(cancel=False), ("spec.cancel",)),
    Change("cancel left out", C, campaign(cancel=True), campaign(), ("spec.cancel",)),
    Change("close", C, STREAM, campaign(recipients={"stream": {}}, close=True), status=STARTED),
    Change("close taken back", C, campaign(recipients={"stream": {}}, close=True), STREAM, ("spec.close",)),
    Change("another type", P, SMTP_PROVIDER, HTTP_PROVIDER, ("spec.type",)),
    Change("another host", P, SMTP_PROVIDER, provider(type="SMTP", smtp={"host": "mx.example.com"}, suspend=True)),
    Change(
        "another type",
        CP,
        allowed_namespaces(),
        provider(type="HTTP", http={"url": "https://example.com"}, allowedNamespaces={"from": "All"}),
        ("spec.type",),
    ),
    Change("a pace", CP, allowed_namespaces(), allowed_namespaces(limits=[{"messages": 1, "periodSeconds": 1}])),
    Change("another type", A, action(type="Retry"), action(type="Resume"), ("spec",)),
    Change("another campaign", A, action(type="Retry"), action(type="Retry", campaignRef={"name": "b"}), ("spec",)),
    Change("a selection", A, action(type="Retry"), action(type="Retry", deliveries={"limit": 5}), ("spec",)),
    Change("nothing", A, action(type="Retry"), action(type="Retry")),
]
