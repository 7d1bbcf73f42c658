"""What a person with kubectl sees of the four kinds: applying, explaining, listing, and being refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml
from tests.cluster.crds.server import NAMESPACE, Server
from tests.cluster.reach import Cluster
from tests.spec_cases.bodies import C, campaign, inline
from tests.spec_cases.documents import as_document
from tests.spec_cases.statuses import CAMPAIGN as STATUS

from sendonce_store.spec import to_yaml

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


class Kubectl(Protocol):
    """The command, in the namespace of these tests; returns what it prints. AssertionError with its complaint."""

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run it."""


@pytest.fixture
def kubectl(server: Server, control_plane: Cluster) -> Iterator[Kubectl]:
    """Return kubectl; at the end there is nothing of ours left in the namespace."""
    run = partial(control_plane.kubectl, f"--namespace={NAMESPACE}")
    yield run
    run("delete", "nc,np,na", "--all", "--wait=false")


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["client-side", "server-side"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_applies_as_it_stands_and_again(kubectl: Kubectl, path: Path, how: tuple[str, ...]) -> None:
    kinds = [document["kind"] for document in yaml.safe_load_all(path.read_text("utf-8"))]
    applied = kubectl("apply", *how, "-f", str(path)).splitlines()
    assert len(applied) == len(kinds)
    before = [one["spec"] for one in stored(kubectl, path)]
    kubectl("apply", *how, "-f", str(path))
    assert [one["spec"] for one in stored(kubectl, path)] == before
    assert {one["metadata"]["generation"] for one in stored(kubectl, path)} == {1}, "nothing was changed"
    kubectl("delete", "--wait=false", "-f", str(path))


def stored(kubectl: Kubectl, path: Path) -> list[dict[str, Any]]:
    found = yaml.safe_load(kubectl("get", "-f", str(path), "-o", "yaml"))
    return list(found["items"]) if found["kind"] == "List" else [found]


def test_the_crds_themselves_apply_both_ways(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    assert kubectl("apply", "--server-side", "-f", str(ROOT / "crds")).count("serverside-applied") == 4
    kubectl("apply", "-f", str(ROOT / "crds"))


def test_explain_reads_as_a_reference(kubectl: Kubectl) -> None:
    words = " ".join(kubectl("explain", "nc.spec.schedule").split())
    assert "DESCRIPTION: When messages may be handed off. FIELDS:" in words
    assert "deadline <string> What has not been handed off by then ends as expired." in words
    words = " ".join(kubectl("explain", "nc.spec.messages.providerRef").split())
    assert "kind <string> enum: NotificationProvider, ClusterNotificationProvider" in words
    assert "name <string> -required- Name of the provider." in words


@pytest.mark.parametrize("kind", ["nc", "np", "cnp", "na"])
def test_everything_is_explained(kubectl: Kubectl, kind: str) -> None:
    assert "<no description>" not in kubectl("explain", "--recursive=false", kind)
    for part in ("spec", "status"):
        explained = kubectl("explain", f"{kind}.{part}")
        fields = explained.partition("FIELDS:")[2].split("\n\n")
        assert [field for field in fields if field.strip() and len(field.strip().splitlines()) < 2] == []


def test_a_list_shows_the_state_in_a_word_and_the_counts(kubectl: Kubectl) -> None:
    text = to_yaml(as_document(C, campaign()))
    kubectl("create", "-f", "-", stdin=text)
    assert kubectl("get", "nc").split()[:6] == ["NAME", "STATUS", "TOTAL", "SENT", "FAILED", "AGE"]
    patch = json.dumps({"status": STATUS.to_wire()})
    kubectl("patch", "nc", "spring", "--subresource=status", "--type=merge", f"--patch={patch}")
    row = kubectl("get", "nc", "-o", "wide", "--no-headers").split()
    assert row[:5] == ["spring", "Sending", "3000000000", "2999999982", "3"]
    assert row[6:] == ["1", "4", "5", "2", "2026-12-01T12:00:00Z", "Marketing"]


def test_fields_can_be_selected(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=to_yaml(as_document(C, campaign("a", suspend=True))))
    kubectl("create", "-f", "-", stdin=to_yaml(as_document(C, campaign("b", category="Transactional", sendKey="k"))))
    chosen = {
        selector: kubectl("get", "nc", "-o", "name", f"--field-selector={selector}").split("/")[-1].strip()
        for selector in ("spec.category=Transactional", "spec.suspend=true", "spec.sendKey=k")
    }
    assert chosen == {"spec.category=Transactional": "b", "spec.suspend=true": "a", "spec.sendKey=k": "b"}
    assert kubectl("get", "sendonce", "-o", "name").count("notificationcampaign") == 2


def test_an_unknown_field_is_refused_by_its_name(kubectl: Kubectl) -> None:
    text = to_yaml(as_document(C, campaign(quietHours={"from": "21:00"})))
    with pytest.raises(AssertionError, match=r'unknown field "spec\.quietHours"'):
        kubectl("apply", "-f", "-", stdin=text)


def test_what_is_wrong_is_said_with_its_field_and_the_fix(kubectl: Kubectl) -> None:
    text = to_yaml(
        as_document(C, inline({"email": "a@example.com"}, schedule={"quietHours": {"from": "21:00", "to": "21:00"}}))
    )
    with pytest.raises(
        AssertionError, match=r"spec\.schedule\.quietHours\.to: Invalid value.*: to must differ from `from`; to"
    ):
        kubectl("apply", "-f", "-", stdin=text)


def test_times_of_day_need_no_quotes(kubectl: Kubectl) -> None:
    text = to_yaml(as_document(C, campaign())) + "  schedule:\n    quietHours: {from: 22:00, to: 07:30}\n"
    kubectl("apply", "-f", "-", stdin=text)
    assert kubectl("get", "nc", "spring", "-o", "jsonpath={.spec.schedule.quietHours.from}") == "22:00"
