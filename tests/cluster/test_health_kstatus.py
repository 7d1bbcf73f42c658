"""What Flux and others make of our objects: each state as the operator writes it, judged by kstatus' own library.

The unit tests have the library's rules in Python (`operator_cases.health`); here it is seen that both agree.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from tests.operator_cases import action_states, campaign_states, health, provider_states

from sendonce_operator.decisions.actions import action_status
from sendonce_operator.decisions.providers import provider_status
from sendonce_operator.decisions.status import status
from sendonce_operator.paths import API_VERSION, PLURALS

CRDS = Path(__file__).resolve().parents[2] / "crds"
KINDS = tuple(PLURALS)
Object = Mapping[str, Any]


def body(kind: str, wire: Object, **metadata: object) -> Object:
    """An object of generation 1 with this status."""
    whole = {"name": "spring", "namespace": "shop", "uid": "6f1c", "generation": 1, **metadata}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": whole, "status": wire}


def judged(program: Path, objects: Sequence[Object]) -> list[str]:
    """What kstatus says of each."""
    text = "\n".join(json.dumps(one) for one in objects)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["status"] for line in done.stdout.splitlines()]


def campaigns() -> Iterator[tuple[str, Object, str]]:
    expected = {"True": "Current", "Unknown": "InProgress", "False": "Failed"}
    for state, (asked, ready, *_) in campaign_states.STATES.items():
        yield state, body("NotificationCampaign", status(asked)), expected[ready[0]]


def others() -> Iterator[tuple[str, Object, str]]:
    for no, (asked, ready, expected, _) in enumerate(provider_states.STATES):
        for kind in ("NotificationProvider", "ClusterNotificationProvider"):
            yield f"{kind} {no}: {ready}", body(kind, provider_status(asked)), expected
    for no, (order, conditions, expected, _) in enumerate(action_states.STATES):
        yield f"action {no}: {conditions}", body("NotificationAction", action_status(order)), expected


def test_every_state_has_the_health_that_is_meant(kstatus: Path) -> None:
    cases = [*campaigns(), *others()]
    found = judged(kstatus, [wire for _, wire, _ in cases])
    said = {state: each for (state, *_), each in zip(cases, found, strict=True)}
    assert said == {state: expected for state, _, expected in cases}


def test_the_rules_of_the_unit_tests_are_the_librarys(kstatus: Path) -> None:
    objects = [wire for _, wire, _ in (*campaigns(), *others())]
    behind = [body(wire["kind"], wire["status"], generation=2) for wire in objects]
    found = judged(kstatus, [*objects, *behind])
    assert found == [health.kstatus(wire["status"], generation) for generation in (1, 2) for wire in objects]
    assert set(found[len(objects) :]) == {"InProgress"}, "the spec was changed, and nobody has looked at it yet"


def unseen(kind: str) -> Object:
    """The status that the CRD gives an object that was just made."""
    crd = yaml.safe_load((CRDS / f"sendonce.dev_{PLURALS[kind]}.yaml").read_text(encoding="utf-8"))
    (version,) = crd["spec"]["versions"]
    default: Object = version["schema"]["openAPIV3Schema"]["properties"]["status"]["default"]
    return default


def test_an_object_that_no_operator_has_seen_yet_is_in_progress(kstatus: Path) -> None:
    assert judged(kstatus, [body(kind, unseen(kind)) for kind in KINDS]) == ["InProgress"] * len(KINDS)


def test_an_object_that_goes_is_terminating_in_every_state(kstatus: Path) -> None:
    going = {"deletionTimestamp": "2026-12-04T09:00:00Z", "finalizers": ["operator.sendonce.dev/finalizer"]}
    objects = [body(wire["kind"], wire["status"], **going) for _, wire, _ in (*campaigns(), *others())]
    assert set(judged(kstatus, objects)) == {"Terminating"}
