"""What the plugin prints: tables and ages as kubectl has them, and nothing that a terminal would obey."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from sendonce_kubectl.showing import Columns, as_json, as_yaml, clean, duration, names, table
from sendonce_kubectl.standing import detail, is_stopped, is_unfinished, row, titles

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\x9b31m\r\n"


def campaign(reason: str = "Sending", *, message: str = "", **status: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True", "reason": reason, "message": message}
    conditions = [ready, *status.pop("conditions", [])]
    return {
        "metadata": {"name": "spring", "namespace": "shop", "creationTimestamp": "2026-12-01T10:00:00Z"},
        "spec": {"category": "Marketing"},
        "status": {"conditions": conditions, **status},
    }


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (599, "9m59s"), (600, "10m"),
        (10_799, "179m"), (10_800, "3h"), (12_000, "3h20m"), (28_800, "8h"), (172_799, "47h"), (172_800, "2d"),
        (180_000, "2d2h"), (691_200, "8d"), (63_071_999, "729d"), (63_072_000, "2y"), (66_000_000, "2y33d"),
        (260_000_000, "8y"),
    ],
)  # fmt: skip
def test_ages_are_those_of_kubectl(seconds: int, shown: str) -> None:
    assert duration(timedelta(seconds=seconds)) == shown


def test_columns_are_aligned_also_with_wide_and_combining_characters() -> None:
    lines = table(["NAME", "STATUS"], [["日本", "a"], ["e\u0301e", "b"], [None, ""]]).splitlines()
    assert lines == ["NAME     STATUS", "日本     a", "e\u0301e       b", "<none>   <none>"]


def test_columns_of_a_table_without_end_grow_with_what_comes() -> None:
    columns = Columns(["NAME", "N"])
    assert columns.head == "NAME      N"
    assert columns.line(["a", 1]) == "a         1"
    assert columns.line(["a-long-name", 1]) == "a-long-name   1"
    assert columns.line(["b", 2]) == "b             2"


def test_names_are_those_that_other_commands_take() -> None:
    people = {"items": [{"recipient": "customer-4711", "channel": "Email"}, {"recipient": "line:12"}], "next": None}
    assert names(people, "recipient") == ["recipient/customer-4711", "recipient/line:12"]
    assert names(campaign(), "notificationcampaign.sendonce.dev") == ["notificationcampaign.sendonce.dev/spring"]


def test_nothing_that_a_terminal_obeys_is_printed() -> None:
    assert clean(HOSTILE) == "\ufffd[2J\ufffd]0;owned\ufffd\ufffdgnp.exe\ufffd31m  "
    for text in (table(["A"], [[HOSTILE]]), detail(campaign(message=HOSTILE), NOW), as_json([HOSTILE])):
        assert not set(text) & set("\x1b\x07\x9b\u202e\r")
    assert json.loads(as_json([HOSTILE])) == [HOSTILE]
    assert not set(as_yaml([HOSTILE])) & set("\x1b\x07\x9b\u202e\r")
    assert yaml.safe_load(as_yaml([HOSTILE])) == [HOSTILE]


def test_a_row_says_how_a_campaign_stands() -> None:
    counts = {"total": 10, "sent": 4, "failed": 1, "uncertain": 2, "pending": 2, "sending": 1}
    found = campaign(deliveries=counts, estimatedCompletionTime="2026-12-01T12:30:00Z")
    shown = dict(zip(titles(wide=True, everywhere=True), row(found, NOW, wide=True, everywhere=True), strict=True))
    assert shown["NAMESPACE"] == "shop"
    assert (shown["STATUS"], shown["TOTAL"], shown["PENDING"]) == ("Sending", 10, 3)
    assert (shown["ETA"], shown["AGE"]) == ("30m", "120m")
    assert shown["SENDKEY"] == "spring"


def test_an_object_without_a_status_is_shown_too() -> None:
    found = {"metadata": {"name": "a", "namespace": "b"}, "spec": {}}
    assert row(found, NOW, wide=False, everywhere=False)[1] == "Unknown"
    assert "campaign    b/a" in detail(found, NOW)


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        ("AwaitingPromotion", "kubectl campaign promote spring"),
        ("FailureThreshold", "kubectl campaign resume spring"),
        ("SomeUndelivered", "kubectl campaign deadletters spring"),
    ],
)
def test_what_to_do_next_is_said(reason: str, hint: str) -> None:
    assert hint in detail(campaign(reason), NOW)


def test_a_cluster_that_stands_by_is_not_to_be_resumed() -> None:
    standby = {"type": "Suspended", "status": "True", "reason": "Standby"}
    found = campaign("Suspended", conditions=[standby])
    assert "stands by" in detail(found, NOW)
    assert not is_stopped(found)


def test_the_detail_has_progress_canary_and_errors() -> None:
    found = campaign(
        deliveries={"total": 200, "sent": 90, "failed": 10, "pending": 100},
        recipients={"total": 200, "duplicates": 3},
        rollout={"stage": "Canary", "canary": {"total": 20, "sent": 19, "failed": 1}},
        topErrors=[{"code": "550", "count": 10, "message": "no such user"}],
        workers={"desired": 2, "ready": 1},
    )
    text = detail(found, NOW)
    assert "50 %, 100 of 200 deliveries have ended" in text
    assert "200, 3 duplicates" in text
    assert "Canary: 19 of 20 sent, 1 failed" in text
    assert "1 of 2 ready" in text
    assert "no such user" in text


@pytest.mark.parametrize(
    ("kind", "reason", "stopped"),
    [
        ("Stalled", "CredentialsRejected", True),
        ("Suspended", "FailureThreshold", True),
        ("Suspended", "SpecSuspend", False),
    ],
)
def test_a_campaign_is_stopped_when_it_waits_for_a_resume(kind: str, reason: str, *, stopped: bool) -> None:
    assert is_stopped(campaign(conditions=[{"type": kind, "status": "True", "reason": reason}])) is stopped


def test_a_campaign_is_unfinished_when_somebody_was_not_sent_to() -> None:
    assert is_unfinished(campaign(deliveries={"total": 2, "sent": 1}))
    assert is_unfinished(campaign(conditions=[{"type": "Failed", "status": "True"}]))
    assert not is_unfinished(campaign(deliveries={"total": 2, "sent": 2}))
