"""What holds of every status, whatever the campaign went through before."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operator_cases.health import argocd, kstatus
from tests.operator_cases.situations import NOW, SPEC, SUBJECT, sending, spec

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.events import transitions
from sendonce_operator.decisions.facts import Adoption, FarEndError, Mode, PodTrouble, Refusal, Situation, Workforce
from sendonce_operator.decisions.patching import merge_patch
from sendonce_operator.decisions.progress import Progress
from sendonce_operator.decisions.status import MOST_BYTES, size, status
from sendonce_store.spec import CampaignStatus
from sendonce_store.standing import Counts, Overview

ALWAYS = {"Ready", "Accepted", "Imported", "Suspended", "Complete", "Failed"}
COUNT = st.integers(0, 10**9)
MOMENT = st.integers(-7200, 7200).map(lambda seconds: NOW + timedelta(seconds=seconds))
WORDS = st.text(max_size=40) | st.sampled_from(["<&>" * 2000, "jane@example.com", "会" * 3000])
ENDS = st.sampled_from(
    [
        ("complete", "AllSent"),
        ("complete", "SomeUndelivered"),
        ("failed", "Cancelled"),
        ("failed", "SourceUnreadable"),
        ("failed", "UnexpectedCount"),
        ("failed", "DeadlineBeforeImport"),
    ]
)
HALTS = st.sampled_from([None, "FailureThreshold", "CanaryFailed", "CredentialsRejected"])
REFUSALS = st.sampled_from(
    [
        None,
        refusal.starting(),
        refusal.store_unavailable("no route"),
        Refusal("WaitingForReference", "m", stalled=False),
        Refusal("InvalidSpec", "m" * 9000, stalled=True),
        Refusal("SendKeyConflict", "m", stalled=True),
        Refusal("LedgerMissing", "m", stalled=True),
    ]
)
TROUBLES = st.builds(
    PodTrouble,
    st.sampled_from(["Unschedulable", "CrashLoopBackOff", "ImagePullBackOff"]),
    WORDS,
    MOMENT,
    st.sampled_from([None, 2, 3]),
)
WORKFORCES = st.none() | st.builds(
    Workforce, st.integers(0, 5), st.integers(0, 5), st.none() | TROUBLES, st.none() | MOMENT
)
ERRORS = st.none() | st.lists(st.builds(FarEndError, st.none() | WORDS, st.none() | WORDS, COUNT, WORDS)).map(tuple)


@st.composite
def overviews(draw: st.DrawFn) -> Overview:
    """Any overview that a store could give, and some that it could not."""
    end = draw(st.none() | ENDS)
    halt = draw(HALTS)
    changes: dict[str, Any] = {
        "counts": Counts(*draw(st.tuples(*[COUNT] * 8))),
        "import_state": draw(st.sampled_from(["pending", "running", "done", "failed"])),
        "import_message": draw(st.none() | WORDS),
        "rollout_stage": draw(st.sampled_from(["none", "importing", "canary", "observing", "awaiting", "promoted"])),
        "suspended": draw(st.booleans()),
        "cancelled": draw(st.booleans()),
        "halt_reason": halt,
        "halt_message": None if halt is None else draw(WORDS),
        "start_at": draw(st.none() | MOMENT),
        "deadline": draw(st.none() | MOMENT),
        "next_due": draw(st.none() | MOMENT),
        "due": draw(COUNT),
        "waiting": draw(COUNT),
        "leased_batches": draw(st.integers(0, 3)),
        "wait_reason": draw(st.sampled_from([None, "quiet_hours"])),
        "provider_paused_until": draw(st.none() | MOMENT),
        "pause_message": draw(st.none() | WORDS),
        "suspended_provider": draw(st.sampled_from([None, "smtp"])),
        "workers_alive": draw(st.integers(0, 2)),
        "worker_problem": draw(st.none() | WORDS),
    }
    if end is not None:
        changes |= {"ended": end[0], "ended_reason": end[1], "ended_message": draw(WORDS), "completed_at": draw(MOMENT)}
    return sending(**changes)


@st.composite
def looks(draw: st.DrawFn) -> Situation:
    """One look at a campaign of which nothing is known yet."""
    rates = st.none() | st.floats(0, 1e6)
    return Situation(
        subject=replace(SUBJECT, generation=draw(st.integers(1, 3))),
        now=NOW,
        spec=draw(st.sampled_from([None, SPEC, spec(suspend=True), spec(cancel=True)])),
        overview=draw(st.none() | overviews()),
        refusal=draw(REFUSALS),
        workforce=draw(WORKFORCES),
        errors=draw(ERRORS),
        progress=draw(st.none() | st.builds(Progress, st.just(NOW), COUNT, rates, MOMENT)),
        adoption=draw(st.sampled_from(Adoption)),
        mode=draw(st.sampled_from(Mode)),
    )


def seen(look: Situation, wire: dict[str, Any], seconds: int) -> Situation:
    """The look at an object that has this status, a while later."""
    subject = replace(look.subject, status=CampaignStatus.from_wire(wire))
    return replace(look, subject=subject, now=NOW + timedelta(seconds=seconds))


@settings(max_examples=60)
@given(st.lists(looks(), min_size=1, max_size=3))
def test_every_status_tells_other_tools_what_it_means(history: list[Situation]) -> None:
    wire: dict[str, Any] = {}
    for no, look in enumerate(history):
        asked = seen(look, wire, 10 * no) if wire else look
        before, wire = wire, status(asked)
        _holds(asked, wire)
        _moves_only_with_flips(before, wire)
        transitions(asked, CampaignStatus.from_wire(wire))


def _holds(asked: Situation, wire: dict[str, Any]) -> None:
    types = [condition["type"] for condition in wire["conditions"]]
    assert len(types) == len(set(types))
    assert set(types) - {"Reconciling", "Stalled"} == ALWAYS
    ready = next(condition["status"] for condition in wire["conditions"] if condition["type"] == "Ready")
    marks = set(types) & {"Reconciling", "Stalled"}
    assert marks == {"True": set(), "Unknown": {"Reconciling"}, "False": {"Stalled"}}[ready]
    observed = wire["observedGeneration"]
    health = kstatus(wire, observed)
    assert health == {"True": "Current", "Unknown": "InProgress", "False": "Failed"}[ready]
    shown = argocd("NotificationCampaign", wire, observed)[0]
    assert shown in {"Current": {"Healthy", "Suspended"}, "InProgress": {"Progressing"}, "Failed": {"Degraded"}}[health]
    assert size(wire) <= MOST_BYTES
    assert "jane@" not in str(wire)
    if asked.overview is not None:
        assert observed == asked.subject.generation
        assert ("completionTime" in wire) == (asked.overview.ended is not None)
    if "deliveries" in wire:
        counts = dict(wire["deliveries"])
        assert counts.pop("total") == sum(counts.values())


def _moves_only_with_flips(before: dict[str, Any], wire: dict[str, Any]) -> None:
    old = {condition["type"]: condition for condition in before.get("conditions", [])}
    for condition in wire["conditions"]:
        known = old.get(condition["type"])
        if known is not None and known["status"] == condition["status"]:
            assert condition["lastTransitionTime"] == known["lastTransitionTime"]


@settings(max_examples=60)
@given(looks(), looks())
def test_looking_twice_at_the_same_writes_nothing(first: Situation, second: Situation) -> None:
    wire = status(seen(second, status(first), 10))
    assert merge_patch(wire, status(seen(second, wire, 10))) == {}
