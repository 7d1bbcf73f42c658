"""Which levers the head of a campaign's page offers: those that would do something, to those who may."""

from __future__ import annotations

from typing import Any

import pytest
from tests.operator_cases.situations import SENDING, sending

from sendonce_console.levers.offered import offered
from sendonce_console.web.visit import Rights

ALL = Rights(people=True, levers=True, wishes=True)


@pytest.mark.parametrize(
    ("situation", "keys"),
    [
        ({}, ["suspend", "cancel"]),
        ({"suspended": True}, ["go-on", "cancel"]),
        ({"rollout_stage": "awaiting"}, ["promote", "suspend", "cancel"]),
        ({"halt_reason": "FailureThreshold"}, ["resume", "suspend", "cancel"]),
        ({"cancelled": True}, []),
        ({"ended": "complete", "ended_reason": "AllSent"}, []),
        ({"ended": "failed", "ended_reason": "SourceUnreadable", "halt_reason": "SourceUnreadable"}, ["resume"]),
        ({"data_deleted_at": SENDING.now}, []),
    ],
)
def test_only_what_would_do_something_is_offered(situation: dict[str, Any], keys: list[str]) -> None:
    assert [lever.key for lever in offered(sending(**situation), ALL)] == keys


def test_only_what_the_viewer_may_is_offered() -> None:
    stopped = sending(halt_reason="FailureThreshold")
    assert [lever.key for lever in offered(stopped, Rights(levers=True))] == ["resume"]
    assert [lever.key for lever in offered(stopped, Rights(wishes=True))] == ["suspend", "cancel"]
    assert offered(stopped, Rights(people=True)) == []
