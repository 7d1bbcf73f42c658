"""docs/first-campaign.md with real Pods: its far end runs in the cluster, and its own ledger is asked as on the page.

The operator is there already; how the chart brings it is tested with the chart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.e2e.premises import Premises
from tests.cluster.reach import Cluster

ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = "first"
SUMMARY = "/api/v1/namespaces/first/services/far-end:http/proxy/ledger/summary"
PAGE = ROOT / "docs" / "first-campaign.md"


@pytest.fixture
def first(product: Cluster, premises: Premises, images: dict[str, str]) -> Iterator[Cluster]:
    """Yield the cluster with the page's files applied, and with the images that were built here."""
    far_end, campaign = (file.read_text("utf-8") for file in sorted((ROOT / "examples" / "first").glob("*.yaml")))
    image = next(line for line in far_end.splitlines() if "image: sendonce-cli:" in line)
    product.kubectl("apply", "-f-", stdin=far_end.replace(image.split()[-1], images["cli"]))
    premises.add_tenant(NAMESPACE)
    product.kubectl("-n", NAMESPACE, "rollout", "status", "deployment/far-end", "--timeout=120s")
    product.kubectl("apply", "-f-", stdin=campaign)
    yield product
    product.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.mark.timeout(900)
def test_the_first_campaign_is_proved_by_the_far_ends_own_ledger(first: Cluster) -> None:
    first.kubectl("wait", "--for=condition=Complete", "notificationcampaign/first", "-n", NAMESPACE, "--timeout=5m")
    assert SUMMARY in PAGE.read_text("utf-8")
    summary = json.loads(first.kubectl("get", "--raw", SUMMARY))
    assert (summary["accepted"], summary["recipients"], summary["duplicates"]) == (50, 50, [])
    assert summary["answers_lost"] > 0
