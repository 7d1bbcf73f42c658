"""Between kopf and the loop: nothing that takes long is waited for, and what waits asks less and less often."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.operator_io.conftest import CAMPAIGN_BODY

from sendonce_operator import desk as front
from sendonce_operator.active import ActiveLoop
from sendonce_operator.desk import Desk, ask_again
from sendonce_operator.runtime import Runtime


async def test_a_deletion_that_takes_long_is_asked_for_again_and_begun_once(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, begun = asyncio.Event(), 0

    async def delete(*_: Any) -> None:
        nonlocal begun
        begun += 1
        await ended.wait()

    monkeypatch.setattr(front, "delete", delete)
    monkeypatch.setattr(front, "DELETION_SECONDS", 0.05)
    desk = Desk(runtime, ActiveLoop(runtime), asyncio.get_running_loop())
    for _ in range(2):
        assert await desk.deleted(CAMPAIGN_BODY) is not None
    assert begun == 1
    ended.set()
    assert await desk.deleted(CAMPAIGN_BODY) is None


@pytest.mark.parametrize(("age", "seconds"), [(0, 3), (20, 3), (100, 10), (86_400, 30)])
def test_an_action_that_waits_is_looked_at_less_and_less_often(age: float, seconds: float) -> None:
    assert ask_again(timedelta(seconds=age)) == seconds
