"""The models themselves: defaults, names on the wire, bounds and descriptions."""

from __future__ import annotations

import types
import typing
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError
from tests.spec_cases.values import LEAST, VALUES

from sendonce_store.spec import (
    ADDRESS_COLUMNS,
    RESERVED_COLUMNS,
    RULES,
    ActionSpec,
    CampaignSpec,
    Channel,
    ClusterProviderSpec,
    InlineRecipient,
    Limit,
    NotificationCampaign,
    ProviderSpec,
    Schedule,
    SpecModel,
    Template,
)
from sendonce_store.spec.wording import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo


def test_a_campaign_of_the_required_fields_alone_has_the_documented_defaults() -> None:
    assert CampaignSpec.from_wire(LEAST).to_wire() == {
        "category": "Marketing",
        "priority": "Normal",
        "suspend": False,
        "cancel": False,
        "close": False,
        "recipients": {
            "configMapKeyRef": {"name": "r", "key": "r.csv"},
            "format": "CSV",
            "compression": "None",
            "maxRejectedPercent": 100,
        },
        "messages": [
            {
                "channel": "SMS",
                "providerRef": {"kind": "NotificationProvider", "name": "p"},
                "template": {"text": "t", "headers": {}, "inlineCSS": False, "variants": [], "attachments": []},
            },
        ],
        "retry": {"maxAttempts": 5, "initialDelaySeconds": 30, "factor": 4, "maxDelaySeconds": 600},
        "uncertainPolicy": "Hold",
        "failurePolicy": {"maxFailedPercent": 50, "minDeliveries": 100, "action": "Suspend"},
        "workers": {
            "max": 10,
            "concurrency": 64,
            "terminationGracePeriodSeconds": 60,
            "podLabels": {},
            "podAnnotations": {},
            "nodeSelector": {},
            "tolerations": [],
            "imagePullSecrets": [],
        },
        "dataRetentionDays": 90,
    }


def test_blocks_that_are_given_empty_have_the_documented_defaults() -> None:
    message = LEAST["messages"][0] | {"channel": "Line", "after": {"channel": "SMS"}}
    spec = CampaignSpec.from_wire(
        LEAST
        | {
            "messages": [*LEAST["messages"], message],
            "rollout": {"canary": {}},
            "schedule": {"quietHours": {"from": "21:00", "to": "09:00"}},
        },
    ).to_wire()
    assert spec["rollout"] == {
        "canary": {
            "percent": 1,
            "minRecipients": 100,
            "observeSeconds": 900,
            "maxFailedPercent": 5,
            "promotion": "Manual",
        },
    }
    assert spec["schedule"] == {"quietHours": {"from": "21:00", "to": "09:00", "unknownTimezonePolicy": "Reject"}}
    assert spec["messages"][1]["after"]["outcomes"] == ["Failed", "NoAddress"]  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"type": "SMTP", "smtp": {"host": "smtp.example.com"}},
            {"smtp": {"host": "smtp.example.com", "port": 587, "tls": "StartTLS", "insecureSkipVerify": False}},
        ),
        (
            {"type": "HTTP", "http": {"url": "https://example.com"}},
            {
                "http": {
                    "url": "https://example.com",
                    "method": "POST",
                    "headers": {},
                    "bodyFormat": "JSON",
                    "errorRules": [],
                    "tls": {"insecureSkipVerify": False},
                },
            },
        ),
        (
            {"type": "Twilio", "credentialsSecretRef": {"name": "t"}, "twilio": {"accountSID": "AC" + "0" * 32}},
            {"credentialsSecretRef": {"name": "t"}, "twilio": {"accountSID": "AC" + "0" * 32}},
        ),
        (
            {"type": "Slack", "credentialsSecretRef": {"name": "s"}},
            {"credentialsSecretRef": {"name": "s"}},
        ),
    ],
)
def test_a_provider_has_the_documented_defaults(block: dict[str, Any], expected: dict[str, Any]) -> None:
    shared = {"type": block["type"], "suspend": False, "limits": [], "maxInFlight": 64, "timeoutSeconds": 30}
    assert ProviderSpec.from_wire(block).to_wire() == shared | expected


@pytest.mark.parametrize(
    ("block", "paces", "window"),
    [
        ({"type": "Line"}, [(2000, 1)], 82_800),
        ({"type": "Slack"}, [], None),
        ({"type": "FCM", "limits": [{"messages": 5, "periodSeconds": 1}]}, [(5, 1)], None),
        (
            {"type": "StandardWebhooks", "standardWebhooks": {"allowedHosts": ["*"], "keyWindowSeconds": 60}},
            [],
            60,
        ),
        ({"type": "StandardWebhooks", "standardWebhooks": {"allowedHosts": ["*"]}}, [], None),
    ],
)
def test_what_a_far_end_publishes_holds_where_nothing_else_is_said(
    block: dict[str, Any], paces: list[tuple[int, int]], window: int | None
) -> None:
    spec = ProviderSpec.from_wire(block | {"credentialsSecretRef": {"name": "s"}})
    assert [(pace.messages, pace.period_seconds) for pace in spec.paces] == paces
    assert spec.key_window == window


def test_the_burst_of_a_limit_is_its_messages_unless_it_is_given() -> None:
    assert Limit(messages=80, period_seconds=1).effective_burst == 80
    assert Limit(messages=80, period_seconds=1, burst=1).effective_burst == 1


@pytest.mark.parametrize(
    ("spec", "states"),
    [
        ({"type": "Retry"}, ("Failed",)),
        ({"type": "Retry", "deliveries": {"states": ["Expired"]}}, ("Expired",)),
        ({"type": "Resolve", "resolveAs": "Sent", "deliveries": {"limit": 5}}, ("Uncertain",)),
        ({"type": "Suppress", "deliveries": {"recipients": ["ada"]}}, ()),
        ({"type": "Resume"}, ()),
    ],
)
def test_an_action_means_the_states_given_or_those_of_its_type(spec: dict[str, Any], states: tuple[str, ...]) -> None:
    assert ActionSpec.from_wire({"campaignRef": {"name": "c"}} | spec).effective_states == states


def test_the_send_key_is_the_name_unless_it_is_given() -> None:
    body = {"metadata": {"name": "spring"}, "spec": LEAST}
    assert NotificationCampaign.from_wire(body).send_key == "spring"
    assert NotificationCampaign.from_wire(body | {"spec": LEAST | {"sendKey": "other"}}).send_key == "other"


def test_python_takes_its_own_names_and_the_wire_only_those_of_the_wire() -> None:
    template = Template(from_="a@example.com", reply_to="b@example.com")
    assert template.to_wire() == {
        "from": "a@example.com",
        "replyTo": "b@example.com",
        "headers": {},
        "inlineCSS": False,
        "variants": [],
        "attachments": [],
    }
    with pytest.raises(ValidationError, match="reply_to"):
        Template.from_wire({"reply_to": "b@example.com"})


def test_a_model_can_not_be_changed() -> None:
    template = Template(text="t")
    with pytest.raises(ValidationError, match="frozen"):
        template.text = "u"


def test_null_counts_as_absent() -> None:
    spec = CampaignSpec.from_wire(LEAST | {"retry": None, "topic": None, "workers": {"max": None}})
    assert (spec.retry.max_attempts, spec.topic, spec.workers.max) == (5, None, 10)


def test_a_null_among_the_variables_of_a_recipient_is_kept() -> None:
    variables = {"nickname": None, "tags": [None, {"a": None}]}
    recipient = InlineRecipient.from_wire({"email": "a@example.com", "variables": variables})
    assert recipient.to_wire() == {"email": "a@example.com", "variables": variables}


def test_times_are_written_in_utc() -> None:
    schedule = Schedule.from_wire({"startAt": "2026-11-30T12:00:00+09:00", "deadline": "2026-12-01T00:00:00.25Z"})
    assert schedule.start_at == datetime(2026, 11, 30, 3, tzinfo=UTC)
    assert schedule.to_wire() == {"startAt": "2026-11-30T03:00:00Z", "deadline": "2026-12-01T00:00:00.250000Z"}


def test_every_channel_has_an_address_column_and_an_inline_field() -> None:
    assert set(ADDRESS_COLUMNS) == set(Channel)
    assert set(InlineRecipient.model_fields) == RESERVED_COLUMNS | {"variables"}


# --- what CRDs are generated from ------------------------------------------------------------------------------------
def models_below(annotation: object) -> Iterator[type[SpecModel]]:
    if isinstance(annotation, type) and issubclass(annotation, SpecModel):
        yield annotation
        for info in annotation.model_fields.values():
            yield from models_below(info.annotation)
    for part in typing.get_args(annotation):
        yield from models_below(part)


def fields_of_the_spec() -> list[tuple[str, FieldInfo]]:
    models = {m for root in (CampaignSpec, ProviderSpec, ClusterProviderSpec, ActionSpec) for m in models_below(root)}
    return [(f"{model.__name__}.{name}", info) for model in models for name, info in model.model_fields.items()]


def fields_of_all_kinds() -> list[tuple[str, FieldInfo]]:
    models = {m for root in RULES for m in models_below(root)}
    return [(f"{model.__name__}.{name}", info) for model in models for name, info in model.model_fields.items()]


def limits_in(metadata: typing.Iterable[object]) -> set[str]:
    found: set[str] = set()
    for item in metadata:
        found |= {name for name in ("ge", "le", "max_length") if getattr(item, name, None) is not None}
        found |= limits_in(getattr(item, "metadata", ()))
    return found


def unbounded(annotation: Any, metadata: typing.Iterable[object] = ()) -> Iterator[str]:
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from unbounded(parts[0], [*parts[1:], *metadata])
    elif origin in {typing.Union, types.UnionType}:
        for part in parts:
            yield from unbounded(part, metadata)
    elif origin in {tuple, dict}:
        if "max_length" not in limits_in(metadata):
            yield "max_length of the collection"
        for part in parts:
            if part is not Ellipsis:
                yield from unbounded(part)
    elif annotation is str and "max_length" not in limits_in(metadata):
        yield "max_length"
    elif annotation is int and not {"ge", "le"} <= limits_in(metadata):
        yield "ge and le"


def test_every_field_of_every_kind_is_described() -> None:
    assert [name for name, info in fields_of_all_kinds() if not info.description] == []
    assert [m.__name__ for root in RULES for m in models_below(root) if not (m.__doc__ or "").strip()] == []


def test_every_field_of_a_spec_is_bounded() -> None:
    loose = {
        name: wants
        for name, info in fields_of_the_spec()
        # any JSON is allowed in a recipient's variables
        if name != "InlineRecipient.variables" and (wants := list(unbounded(info.annotation, info.metadata)))
    }
    assert loose == {}


def test_every_enum_value_is_written_as_in_kubernetes() -> None:
    enums = {
        part
        for _, info in fields_of_all_kinds()
        for part in (info.annotation, *typing.get_args(info.annotation))
        if isinstance(part, type) and issubclass(part, Enum)
    }
    assert len(enums) > 15
    assert [v.value for enum in enums for v in enum if not (v.value[0].isupper() and v.value.isalpha())] == []


def test_every_pattern_has_words_for_people() -> None:
    patterns = {pattern for _, info in fields_of_the_spec() for pattern in patterns_in(info.annotation, info.metadata)}
    assert len(patterns) > 8
    assert patterns - set(PATTERNS) == set()


def patterns_in(annotation: Any, metadata: typing.Iterable[object] = ()) -> Iterator[str]:
    for item in metadata:
        if getattr(item, "pattern", None):
            yield item.pattern  # type: ignore[attr-defined]
        yield from patterns_in(None, getattr(item, "metadata", ()))
    parts = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        yield from patterns_in(parts[0], parts[1:])
        return
    for part in parts:
        yield from patterns_in(part)


@pytest.mark.parametrize(("field", "good", "bad"), VALUES)
def test_a_value_inside_its_bounds_is_taken_and_one_outside_is_refused(
    field: str,
    good: list[Any],
    bad: list[Any],
) -> None:
    for value in good:
        CampaignSpec.from_wire(LEAST | {field: value})
    for value in bad:
        with pytest.raises(ValidationError):
            CampaignSpec.from_wire(LEAST | {field: value})
