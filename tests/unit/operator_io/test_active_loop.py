"""The one loop over all campaigns: what hangs or breaks at one of them keeps nobody waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.operator_io.conftest import CAMPAIGN_BODY, PROVIDER_BODY, merged
from tests.unit.operator_io.test_conducting_alone import WAITS

from sendonce_operator import reconcile as reconciling
from sendonce_operator import upkeep
from sendonce_operator.active import ActiveLoop
from sendonce_operator.cluster import ClusterError, Object
from sendonce_operator.conducting import conduct_too
from sendonce_operator.decisions.facts import Defaults
from sendonce_operator.ledger import STORE_ERRORS, Ledger
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.objects import CAMPAIGN, PROVIDER, Campaign
from sendonce_operator.runtime import Runtime, Tracked
from sendonce_operator.settings import OperatorSettings

AWAY = "postgresql://nobody@127.0.0.1:1/none"


class Statuses:
    """An API server that takes statuses, and deletes all but what it is told not to."""

    def __init__(self) -> None:
        self.shown: dict[str, Object] = {}
        self.kept: set[str] = set()
        self.deleted: list[str] = []
        self.bodies: dict[str, Object] = {}

    async def patch(self, path: str, body: Object) -> Object:
        name = path.split("/")[-2]
        self.shown[name] = merged(self.shown.get(name, {}), body["status"])
        return {**self.bodies[name], "status": self.shown[name]}

    async def create(self, _: str, body: Object) -> Object:
        return body

    async def find(self, _: str) -> None:
        return None

    async def get(self, _: str, __: Mapping[str, str] | None = None) -> Object:
        return {"metadata": {}, "items": []}

    async def delete(self, path: str, _: str) -> None:
        name = path.rsplit("/", maxsplit=1)[-1]
        if name in self.kept:
            raise ClusterError(403, "Forbidden", "a policy keeps it")
        self.deleted.append(name)


def named(name: str, **changes: Any) -> Object:
    metadata = {**CAMPAIGN_BODY["metadata"], "name": name, "uid": name}
    return {**CAMPAIGN_BODY, "metadata": metadata, **changes}


@pytest.fixture
def api() -> Statuses:
    return Statuses()


@pytest.fixture
def operator(api: Statuses) -> Runtime:
    standing_in: Any = api
    return Runtime(
        OperatorSettings(AWAY, "operator", Defaults("worker:1")), standing_in, OperatorMetrics(CollectorRegistry())
    )


def campaigns(runtime: Runtime, api: Statuses, *names: str, **changes: Any) -> list[Campaign]:
    found = []
    for name in names:
        api.bodies[name] = named(name, **changes)
        seen = runtime.watched.note(CAMPAIGN, api.bodies[name])
        assert seen is not None
        found.append(seen)
    return found


def ready(api: Statuses, name: str) -> str:
    conditions = api.shown[name]["conditions"]
    return str(next(one["reason"] for one in conditions if one["type"] == "Ready"))


async def test_a_campaign_that_is_being_reconciled_for_long_keeps_no_other_waiting(
    operator: Runtime, api: Statuses
) -> None:
    slow, _ = campaigns(operator, api, "slow", "quick")
    async with operator.track(slow).lock, asyncio.timeout(20):
        await ActiveLoop(operator).tick()
        assert ready(api, "quick") == "StoreUnavailable"


async def test_a_campaign_that_breaks_the_operator_keeps_no_other_from_being_looked_after(
    operator: Runtime, api: Statuses, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaigns(operator, api, "broken", "sound")

    async def bind(claim: Any) -> None:
        assert claim.campaign.key.name != "broken"

    class Connections:
        def use(self) -> Connections:
            return self

        async def __aenter__(self) -> None:
            return None

        async def __aexit__(self, *_: object) -> None:
            return None

    monkeypatch.setattr(reconciling, "bind", bind)
    standing_in: Any = Connections()
    operator.ledger = standing_in
    await ActiveLoop(operator).tick()
    assert "sound" in api.shown
    broken = operator.tracked[next(key for key in operator.tracked if key.name == "broken")]
    assert broken.refusal is not None
    assert "AssertionError" in broken.refusal.message
    assert broken.retry_at is not None


async def test_to_end_many_deliveries_keeps_no_look_waiting(operator: Runtime) -> None:
    tracked = Tracked("u", campaign_id=1)
    hangs = asyncio.Event()

    class Hanging:
        def use(self) -> Hanging:
            return self

        async def __aenter__(self) -> None:
            await hangs.wait()
            raise OSError

        async def __aexit__(self, *_: object) -> None:
            return None

    standing_in: Any = Hanging()
    operator.slow_ledger = standing_in
    async with asyncio.timeout(20):
        conduct_too(operator, tracked, replace(WAITS, cancelled=True))
        task = tracked.conducting
        assert task is not None
        tracked.conducted_at = float("-inf")
        conduct_too(operator, tracked, replace(WAITS, cancelled=True))
        assert tracked.conducting is task, "not twice at a time"
        hangs.set()
        await task
    assert tracked.conducting is None


async def test_an_object_that_can_not_be_deleted_keeps_no_other_from_it(operator: Runtime, api: Statuses) -> None:
    spec = {**CAMPAIGN_BODY["spec"], "ttlSecondsAfterFinished": 0}
    status = {"completionTime": "2026-11-01T10:00:00Z"}
    for campaign in campaigns(operator, api, "kept", "gone", spec=spec, status=status):
        operator.track(campaign).settled = True
    api.kept.add("kept")
    await upkeep.delete_expired(operator)
    assert api.deleted == ["gone"]


async def test_a_provider_that_breaks_something_keeps_no_other_from_its_status(
    operator: Runtime, api: Statuses, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    async def look(_: Runtime, key: Any) -> None:
        seen.append(key.name)
        assert key.name != "a"

    monkeypatch.setattr(upkeep, "reconcile_provider", look)
    for name in ("a", "b"):
        operator.watched.note(PROVIDER, {**PROVIDER_BODY, "metadata": {**PROVIDER_BODY["metadata"], "name": name}})
    await upkeep.look_at_providers(operator)
    assert seen == ["a", "b"]


async def test_a_store_that_does_not_answer_is_not_waited_for_by_each_in_turn() -> None:
    """As behind a firewall that drops: connections open, and nothing comes."""
    taken: list[asyncio.StreamWriter] = []

    async def keep(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.append(writer)

    async with await asyncio.start_server(keep, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        ledger = Ledger(lambda: f"postgresql://nobody@127.0.0.1:{port}/none", size=2)

        async def ask() -> None:
            with pytest.raises(STORE_ERRORS):
                async with ledger.use():
                    pass

        async with asyncio.timeout(14):
            await asyncio.gather(*(ask() for _ in range(40)))
        assert len(taken) <= 4
        for writer in taken:
            writer.close()
