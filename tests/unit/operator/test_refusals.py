"""Why nothing can be done: reasons, messages that name the fix, and what is waited for."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from pydantic import ValidationError
from tests.operator_cases.situations import NOW, SPEC, SUBJECT, situation

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.facts import LEDGER_ANNOTATION, Refusal, Subject
from sendonce_operator.decisions.status import status
from sendonce_store.spec import AllowedNamespaces, CampaignSpec, CampaignStatus, Channel, ProviderRef, ProviderType

WHAT = "spec.messages[Email].providerRef: NotificationProvider smtp"


def seen(asked: Refusal, when: datetime = NOW) -> Subject[CampaignStatus]:
    """The object after a status with this refusal was written."""
    wire = status(situation(None, refusal=asked, now=when))
    return replace(SUBJECT, status=CampaignStatus.from_wire(wire))


def test_a_missing_object_is_waited_for_and_then_needs_a_person() -> None:
    first = refusal.missing(SUBJECT, WHAT, NOW)
    assert first == Refusal(
        "WaitingForReference", f"{WHAT} is not there; waited for until 2026-12-04T09:02:00Z", stalled=False
    )
    waiting = seen(first)
    assert refusal.missing(waiting, WHAT, NOW + timedelta(seconds=119)) == first
    assert refusal.missing(waiting, WHAT, NOW + timedelta(seconds=120)) == Refusal(
        "ProviderNotFound", f"{WHAT} is not there; create it, or name another", stalled=True
    )


def test_what_was_given_up_is_not_waited_for_again_before_an_edit() -> None:
    given_up = seen(Refusal("ProviderNotFound", WHAT, stalled=True))
    assert refusal.missing(given_up, WHAT, NOW).stalled
    edited = replace(given_up, generation=2)
    assert not refusal.missing(edited, WHAT, NOW + timedelta(days=1)).stalled


def test_each_missing_thing_has_its_own_reason() -> None:
    late = NOW + timedelta(minutes=3)
    waiting = seen(refusal.missing(SUBJECT, WHAT, NOW))
    assert refusal.missing(waiting, WHAT, late, "InvalidSpec").reason == "InvalidSpec"
    assert not refusal.missing(seen(Refusal("ProviderNotFound", WHAT, stalled=True)), WHAT, NOW, "InvalidSpec").stalled


def test_an_invalid_spec_names_each_field_and_its_fix() -> None:
    wire = SPEC.to_wire()
    wire["retry"] = {"maxAttempts": 0, "factr": 2}
    with pytest.raises(ValidationError) as caught:
        CampaignSpec.from_wire(wire)
    found = refusal.invalid_spec(caught.value, CampaignSpec)
    assert (found.reason, found.stalled) == ("InvalidSpec", True)
    assert "spec.retry.maxAttempts: must be at least 1" in found.message
    assert "did you mean factor" in found.message


def test_many_problems_are_counted_not_listed() -> None:
    with pytest.raises(ValidationError) as caught:
        CampaignSpec.from_wire(SPEC.to_wire() | {f"x{n}": n for n in range(8)})
    assert refusal.invalid_spec(caught.value, CampaignSpec).message.endswith("; and 3 more")


def test_a_channel_that_the_provider_can_not_serve() -> None:
    ref = ProviderRef(name="smtp")
    assert refusal.unfit_channel(Channel.EMAIL, ref, ProviderType.SMTP) is None
    found = refusal.unfit_channel(Channel.SMS, ref, ProviderType.SMTP)
    assert found is not None
    assert found.message == (
        "spec.messages[SMS].providerRef: NotificationProvider smtp is of type SMTP, which serves Email; "
        "name another provider"
    )


ALLOWED = [
    ({"from": "All"}, {}, True),
    ({"from": "Selector", "selector": {}}, {}, True),
    ({"from": "Selector", "selector": {"matchLabels": {"a": "1"}}}, {"a": "1", "b": "2"}, True),
    ({"from": "Selector", "selector": {"matchLabels": {"a": "1"}}}, {"a": "2"}, False),
    ({"from": "Selector", "selector": {"matchLabels": {"a": "1"}}}, {}, False),
    ({"from": "Selector", "selector": {"matchLabels": {"a": "1", "b": "2"}}}, {"a": "1"}, False),
]
OPERATORS = [
    ("In", ["1", "2"], {"a": "2"}, True),
    ("In", ["1", "2"], {"a": "3"}, False),
    ("In", ["1"], {}, False),
    ("NotIn", ["1"], {"a": "2"}, True),
    ("NotIn", ["1"], {}, True),
    ("NotIn", ["1"], {"a": "1"}, False),
    ("Exists", [], {"a": ""}, True),
    ("Exists", [], {}, False),
    ("DoesNotExist", [], {}, True),
    ("DoesNotExist", [], {"a": ""}, False),
]


@pytest.mark.parametrize(("wire", "labels", "allowed"), ALLOWED)
def test_namespaces_that_a_cluster_provider_is_open_to(
    wire: dict[str, object], labels: dict[str, str], allowed: bool
) -> None:
    found = refusal.not_allowed("main", AllowedNamespaces.from_wire(wire), "shop", labels)
    assert (found is None) == allowed
    assert found is None or (found.reason, found.stalled) == ("ProviderNotAllowed", True)


@pytest.mark.parametrize(("operator", "values", "labels", "allowed"), OPERATORS)
def test_label_expressions_are_those_of_kubernetes(
    operator: str, values: list[str], labels: dict[str, str], allowed: bool
) -> None:
    requirement = {"key": "a", "operator": operator, "values": values}
    wire = {"from": "Selector", "selector": {"matchExpressions": [requirement]}}
    assert (refusal.not_allowed("main", AllowedNamespaces.from_wire(wire), "shop", labels) is None) == allowed


def test_a_record_that_is_gone_is_told_from_one_that_never_was() -> None:
    assert refusal.ledger_missing(SUBJECT, "mine", "spring") is None
    for said, words in (("mine", "this store, which has lost it"), ("other", "store other, and this is store mine")):
        found = refusal.ledger_missing(replace(SUBJECT, annotations={LEDGER_ANNOTATION: said}), "mine", "spring")
        assert found is not None
        assert (found.reason, found.stalled) == ("LedgerMissing", True)
        assert words in found.message


def test_an_object_that_has_started_had_a_record_also_without_its_annotation() -> None:
    begun = replace(SUBJECT, status=CampaignStatus(start_time=NOW))
    found = refusal.ledger_missing(begun, "mine", "spring")
    assert found is not None
    assert (found.reason, found.stalled) == ("LedgerMissing", True)
    assert "another store: it has started" in found.message


@pytest.mark.parametrize(("said", "fits"), [(None, True), ("mine", True), ("other", False)])
def test_a_row_is_not_gone_on_with_where_another_store_has_sent_since(said: str | None, fits: bool) -> None:
    subject = replace(SUBJECT, annotations={LEDGER_ANNOTATION: said} if said else {})
    found = refusal.begun_elsewhere(subject, "mine", "spring")
    assert (found is None) == fits
    assert found is None or (found.reason, found.stalled) == ("LedgerMissing", True)
