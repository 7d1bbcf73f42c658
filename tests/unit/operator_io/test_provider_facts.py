"""What is kept of a provider for all its campaigns is made anew when the provider changes, or its pause does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.unit.operator_io.conftest import PROVIDER_BODY

from sendonce_operator.cluster import Object
from sendonce_operator.decisions.facts import ProviderFacts
from sendonce_operator.objects import PROVIDER, Campaign
from sendonce_operator.paths import Key
from sendonce_operator.providing import facts_of
from sendonce_operator.runtime import Runtime
from sendonce_store.operating import ProviderState

KEY = Key(PROVIDER, "shop", "api")
NOW = datetime(2026, 11, 1, 10, tzinfo=UTC)


def faster(**metadata: object) -> Object:
    """The provider with another limit."""
    spec = {**PROVIDER_BODY["spec"], "limits": [{"messages": 9, "periodSeconds": 1}]}
    return {"metadata": {**PROVIDER_BODY["metadata"], "resourceVersion": "2", **metadata}, "spec": spec}


def only(runtime: Runtime, campaign: Campaign) -> ProviderFacts:
    (found,) = facts_of(runtime, campaign)
    return found


def paused(until: datetime | None) -> dict[Key, ProviderState]:
    state = ProviderState("shop", PROVIDER, "api", suspended=False, paused_until=until, pause_code="429",
                          pause_message="slow down", pauses_in_row=3, now=NOW)  # fmt: skip
    return {KEY: state}


def test_they_are_made_once(runtime: Runtime, campaign: Campaign) -> None:
    runtime.watched.note(PROVIDER, PROVIDER_BODY)
    assert only(runtime, campaign) is only(runtime, campaign)


def test_another_generation_and_another_object_are_read(runtime: Runtime, campaign: Campaign) -> None:
    for change in ({"generation": 2}, {"uid": "another"}):
        runtime.watched.note(PROVIDER, PROVIDER_BODY)
        assert only(runtime, campaign).per_second == 5
        runtime.watched.note(PROVIDER, faster(**change))
        assert only(runtime, campaign).per_second == 9
        runtime.watched.forget([KEY])


def test_a_pause_counts_until_its_end(runtime: Runtime, campaign: Campaign) -> None:
    runtime.watched.note(PROVIDER, PROVIDER_BODY)
    for until, shown in ((NOW + timedelta(hours=1), NOW + timedelta(hours=1)), (NOW, None), (None, None)):
        runtime.pauses = paused(until)
        assert only(runtime, campaign).paused_until == shown
