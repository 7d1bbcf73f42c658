"""docs/first-campaign.md with real Pods, command by command: the chart with a database of its own, and its proof."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.e2e.release import SYSTEM, Release, merged
from tests.cluster.reach import Cluster
from tools.cluster import postgres_image, product

ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = "first"
SUMMARY = "/api/v1/namespaces/first/services/far-end:http/proxy/ledger/summary"
PAGE = (ROOT / "docs" / "first-campaign.md").read_text("utf-8")
REASON = 'jsonpath={.status.conditions[?(@.type=="Complete")].reason}'


@pytest.fixture(scope="module")
def tried_out(release: Release, images: dict[str, str]) -> Cluster:
    """Return the cluster with a release that has nothing but `postgresql.enabled`, and images that a node here has."""
    tag, archive = postgres_image.build()
    release.cluster.load(archive)
    release.remove("--no-hooks")
    release.furnish()
    # the chart makes it, for its own database
    release.cluster.kubectl("-n", SYSTEM, "delete", "secret", "sendonce-store")
    # no namespace here has the authorities that other tests' workers trust
    done = release.put(merged(product.values(images, tag), {"workers": {"caConfigMap": {"name": ""}}}))
    assert done.returncode == 0, f"{done.stderr}\n{release.shown()}"
    return release.cluster


@pytest.fixture
def first(tried_out: Cluster, images: dict[str, str]) -> Iterator[str]:
    """Yield the page's files, with the images that were built here; their namespace goes afterwards."""
    files = [file.read_text("utf-8") for file in sorted((ROOT / "examples" / "first").glob("*.yaml"))]
    image = next(line for line in files[0].splitlines() if "image: sendonce-cli:" in line)
    yield "\n---\n".join(files).replace(image.split()[-1], images["cli"])
    tried_out.kubectl("delete", "namespace", NAMESPACE, "--timeout=120s")


def complete(cluster: Cluster) -> None:
    cluster.kubectl("wait", "--for=condition=Complete", "notificationcampaign/first", "-n", NAMESPACE, "--timeout=5m")


@pytest.mark.timeout(900)
def test_the_first_campaign_is_proved_by_the_far_ends_own_ledger_and_never_sent_again(
    tried_out: Cluster, first: str
) -> None:
    assert "--set postgresql.enabled=true --wait" in PAGE
    tried_out.kubectl("apply", "-f-", stdin=first)
    complete(tried_out)
    assert SUMMARY in PAGE
    summary = json.loads(tried_out.kubectl("get", "--raw", SUMMARY))
    assert (summary["accepted"], summary["recipients"], summary["duplicates"]) == (50, 50, [])
    assert summary["answers_lost"] > 0
    tried_out.kubectl("delete", "notificationcampaign/first", "-n", NAMESPACE, "--timeout=60s")
    tried_out.kubectl("apply", "-f-", stdin=first)
    complete(tried_out)
    assert tried_out.kubectl("get", "notificationcampaign/first", "-n", NAMESPACE, "-o", REASON) == "AlreadySent"
    assert json.loads(tried_out.kubectl("get", "--raw", SUMMARY)) == summary
