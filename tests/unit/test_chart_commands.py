"""What the chart's Pods decide: the documents of `helm test`, its judgement, and which campaigns keep an operator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sendonce_cli.chart.api import in_cluster
from sendonce_cli.chart.leaving import is_unfinished
from sendonce_cli.chart.proving import Trial, judged
from sendonce_cli.exits import CliError
from sendonce_cli.simulate.ledger import Ledger, LedgerRow
from sendonce_cli.simulate.outcomes import Cause, Outcome
from sendonce_store.spec import load_documents

TRIAL = Trial("sendonce-test-1", "sendonce-system", "10.0.0.7", 3)


def row(to: str) -> LedgerRow:
    return LedgerRow(
        ts=1.0,
        arrived=1.0,
        protocol="http",
        path="/send",
        key=f"key of {to}",
        to=to,
        outcome=Outcome.ACCEPTED,
        cause=Cause.NORMAL,
        answer_lost=False,
        status=200,
        payload_sha256=None,
        attempt=1,
        message_id=None,
    )


def sent(count: int) -> dict[str, Any]:
    return {"deliveries": {"sent": count, "total": count}}


def test_its_documents_are_valid_and_are_made_before_what_needs_them() -> None:
    (people_path, people), *ours = TRIAL.objects(8080)
    assert people_path == "/api/v1/namespaces/sendonce-system/configmaps"
    assert people["data"]["people.csv"].splitlines()[-1] == "2,p2@example.com"
    text = "\n---\n".join(json.dumps(body) for _, body in ours)
    assert [document.resource.kind for document in load_documents(text, "test.yaml")] == [
        "NotificationProvider",
        "NotificationCampaign",
    ]


def test_a_pod_with_an_address_of_ipv6_is_reached_as_well() -> None:
    trial = Trial("t", "n", "fd00::7", 1)
    assert dict(trial.objects(8080))["/apis/sendonce.dev/v1alpha1/namespaces/n/notificationproviders"]["spec"]["http"][
        "url"
    ] == ("http://[fd00::7]:8080/send")


def test_each_accepted_once_is_the_proof() -> None:
    rows = tuple(row(address) for address in TRIAL.addresses)
    assert judged(TRIAL, sent(3), Ledger(rows))[0] == (
        "3 people, each accepted once by the far end's own ledger: 0 lost, 0 twice."
    )


@pytest.mark.parametrize(
    ("addresses", "claimed", "words"),
    [
        (("p0", "p1"), 3, "1 lost, 0 twice; the campaign says 3 sent"),
        (("p0", "p1", "p2", "p2"), 3, "0 lost, 1 twice; the campaign says 3 sent"),
        (("p0", "p1", "p2"), 2, "0 lost, 0 twice; the campaign says 2 sent"),
        (("p0", "p1", "p2", "stranger"), 3, "0 lost, 1 twice; the campaign says 3 sent"),
    ],
)
def test_anything_else_is_none(addresses: tuple[str, ...], claimed: int, words: str) -> None:
    rows = tuple(row(f"{name}@example.com") for name in addresses)
    with pytest.raises(CliError, match=words):
        judged(TRIAL, sent(claimed), Ledger(rows))


@pytest.mark.parametrize(
    ("metadata", "status", "keeps"),
    [
        ({}, None, False),
        ({}, {"observedGeneration": -1}, False),
        ({}, {"startTime": "2026-12-01T00:00:00Z"}, True),
        ({}, {"startTime": "2026-12-01T00:00:00Z", "completionTime": "2026-12-01T01:00:00Z"}, False),
        ({"deletionTimestamp": "2026-12-01T01:00:00Z"}, {"completionTime": "2026-12-01T01:00:00Z"}, True),
    ],
)
def test_a_campaign_needs_its_operator_from_its_start_to_its_end(
    metadata: dict[str, str], status: dict[str, Any] | None, keeps: bool
) -> None:
    assert is_unfinished({"metadata": metadata, "status": status}) is keeps


def test_outside_of_a_pod_the_commands_say_where_they_run(tmp_path: Path) -> None:
    with pytest.raises(CliError, match=r"this runs in a Pod of the Helm chart.*docs/install\.md"):
        in_cluster(tmp_path, {})
