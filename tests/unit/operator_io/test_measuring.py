"""From what the watches have shown to the series of Prometheus, for a thousand campaigns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from tests.unit.operator_io.conftest import CAMPAIGN_BODY, PROVIDER_BODY, metadata

from sendonce_operator.fleet import CAMPAIGN_SERIES
from sendonce_operator.measuring import Measuring
from sendonce_operator.objects import CAMPAIGN, PROVIDER
from sendonce_operator.paths import Key
from sendonce_operator.runtime import Runtime
from sendonce_store.operating import ProviderState

COUNT = 1000
VERSIONS = count(100)
LABELS = {"namespace": "shop", "provider": "api"}


def ago(**time: float) -> str:
    return (datetime.now(UTC) - timedelta(**time)).isoformat(timespec="seconds")


def ready(status: str, reason: str) -> dict[str, Any]:
    return {"type": "Ready", "status": status, "reason": reason, "message": "", "lastTransitionTime": ago(days=1)}


def show(runtime: Runtime, many: int, **status: Any) -> None:
    """Have campaigns watched that say this."""
    for no in range(many):
        version = {"resourceVersion": str(next(VERSIONS))}
        body = {**CAMPAIGN_BODY, "metadata": {**metadata(f"c{no}"), **version}, "status": status}
        runtime.watched.note(CAMPAIGN, body)


@pytest.fixture
def measuring(runtime: Runtime) -> Measuring:
    """What needs no store."""
    runtime.store_down = "there is none"
    return Measuring(runtime)


def series(runtime: Runtime) -> int:
    """Series of campaigns."""
    names = {one.name for one in CAMPAIGN_SERIES}
    return sum(len(family.samples) for family in runtime.metrics.registry.collect() if family.name in names)


async def test_so_many_that_run_have_a_bounded_number_of_series(runtime: Runtime, measuring: Measuring) -> None:
    show(runtime, COUNT, deliveries={"pending": 7}, workers={"desired": 1}, conditions=[ready("True", "Sending")])
    await measuring.measure()
    assert series(runtime) <= COUNT * (len(CAMPAIGN_SERIES) + 7)
    assert series(runtime) > COUNT


async def test_so_many_that_have_ended_have_none(runtime: Runtime, measuring: Measuring) -> None:
    show(runtime, COUNT, deliveries={"pending": 7}, conditions=[ready("True", "Sending")])
    await measuring.measure()
    ended = {"completionTime": ago(hours=1), "deliveries": {"sent": 7}, "conditions": [ready("True", "AllSent")]}
    show(runtime, COUNT, **ended)
    await measuring.measure()
    assert series(runtime) == 0


async def test_those_that_have_just_ended_are_scraped_once_more(runtime: Runtime, measuring: Measuring) -> None:
    show(runtime, 3, completionTime=ago(minutes=1), deliveries={"sent": 7}, conditions=[ready("True", "AllSent")])
    await measuring.measure()
    labels = {"namespace": "shop", "campaign": "c2", "state": "sent"}
    assert runtime.metrics.registry.get_sample_value("sendonce_campaign_deliveries", labels) == 7


async def test_objects_that_are_gone_leave_nothing(runtime: Runtime, measuring: Measuring) -> None:
    show(runtime, 3, completionTime=ago(hours=1), deliveries={"uncertain": 7}, conditions=[ready("True", "Sending")])
    await measuring.measure()
    assert series(runtime) == 3
    runtime.watched.forget(list(runtime.watched.campaigns))
    await measuring.measure()
    assert series(runtime) == 0


async def test_a_provider_is_shown_while_it_is_there(runtime: Runtime, measuring: Measuring) -> None:
    key = Key(PROVIDER, "shop", "api")
    now = datetime.now(UTC)
    until = now + timedelta(hours=1)
    state = ProviderState("shop", PROVIDER, "api", suspended=False, paused_until=until, pause_code="429",
                          pause_message="slow down", pauses_in_row=3, now=now)  # fmt: skip
    runtime.pauses = {key: state}
    runtime.watched.note(PROVIDER, PROVIDER_BODY)
    await measuring.measure()
    value = runtime.metrics.registry.get_sample_value
    assert value("sendonce_provider_paused", LABELS) == 1
    assert value("sendonce_provider_pace_limit", LABELS) == 5
    runtime.watched.forget([key])
    await measuring.measure()
    assert value("sendonce_provider_paused", LABELS) is None
