"""What a campaign's conditions say in each state, and what other tools make of them."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.operator_cases.campaign_states import PLAIN, STATES, absent, halted, troubled
from tests.operator_cases.health import argocd, kstatus
from tests.operator_cases.situations import (
    NOW,
    after,
    conditions,
    sending,
    situation,
)

from sendonce_operator.decisions.facts import PodTrouble, Workforce
from sendonce_operator.decisions.status import status
from sendonce_store.standing import Counts

CONDITIONS_PAGE = Path(__file__).parents[3] / "docs" / "conditions.md"


@pytest.mark.parametrize("state", STATES)
def test_conditions_of_each_state(state: str) -> None:
    asked, ready, others, _ = STATES[state]
    found = conditions(status(asked))
    for name in ("Reconciling", "Stalled"):
        found.pop(name, None)
    assert found == {"Ready": ready, **PLAIN, **others}


@pytest.mark.parametrize("state", STATES)
def test_kstatus_and_argo_cd_agree_with_ready(state: str) -> None:
    asked, ready, _, health = STATES[state]
    wire = status(asked)
    marks = [name for name in ("Reconciling", "Stalled") if name in conditions(wire)]
    assert marks == {"True": [], "Unknown": ["Reconciling"], "False": ["Stalled"]}[ready[0]]
    assert kstatus(wire, 1) == {"True": "Current", "Unknown": "InProgress", "False": "Failed"}[ready[0]]
    assert argocd("NotificationCampaign", wire)[0] == health


def test_every_reason_is_one_of_the_resources_and_is_explained() -> None:
    ready = {
        "True": "Scheduled Importing Sending QuietHours ProviderPaused Observing AwaitingPromotion Suspended Retrying "
        "AllSent SomeUndelivered AlreadySent Cancelled",
        "Unknown": "Starting WaitingForReference StoreUnavailable",
        "False": "InvalidSpec ProviderNotFound ProviderNotAllowed SecretNotFound SendKeyConflict LedgerMissing "
        "SourceUnreadable UnexpectedCount TooManyRejected DeadlineBeforeImport FailureThreshold CanaryFailed "
        "CredentialsRejected WorkersUnavailable NoProgress",
    }
    page = CONDITIONS_PAGE.read_text(encoding="utf-8")
    for _, (state, reason), _, _ in STATES.values():
        assert reason in ready[state].split()
    for reasons in ready.values():
        assert [reason for reason in reasons.split() if f"`{reason}`" not in page] == []


# condition, status → the reasons that it has; each is a state here
REASONS = {
    ("Ready", "True"): "Scheduled Importing Sending QuietHours ProviderPaused Observing AwaitingPromotion Suspended "
    "Retrying AllSent SomeUndelivered AlreadySent Cancelled",
    ("Reconciling", "True"): "Starting WaitingForReference StoreUnavailable",
    ("Stalled", "True"): "InvalidSpec ProviderNotFound ProviderNotAllowed SecretNotFound SendKeyConflict LedgerMissing "
    "SourceUnreadable UnexpectedCount TooManyRejected DeadlineBeforeImport FailureThreshold CanaryFailed "
    "CredentialsRejected WorkersUnavailable NoProgress",
    ("Accepted", "True"): "Accepted",
    ("Accepted", "False"): "InvalidSpec ProviderNotFound ProviderNotAllowed SendKeyConflict LedgerMissing",
    ("Accepted", "Unknown"): "Starting",
    ("Imported", "True"): "Imported AlreadySent",
    ("Imported", "False"): "Importing NotStarted SourceUnreadable UnexpectedCount TooManyRejected",
    ("Suspended", "True"): "SpecSuspend FailureThreshold CanaryFailed AwaitingPromotion Standby CredentialsRejected",
    ("Suspended", "False"): "Active",
    ("Complete", "True"): "AllSent SomeUndelivered AlreadySent",
    ("Complete", "False"): "InProgress Retrying Failed",
    ("Failed", "True"): "SourceUnreadable UnexpectedCount TooManyRejected DeadlineBeforeImport Cancelled",
    ("Failed", "False"): "NotFailed",
}


def test_every_reason_of_every_condition_is_a_state_here() -> None:
    wished = {(*of, reason) for of, reasons in REASONS.items() for reason in reasons.split()}
    wished |= {("Ready", "Unknown", reason) for reason in REASONS["Reconciling", "True"].split()}
    wished |= {("Ready", "False", reason) for reason in REASONS["Stalled", "True"].split()}
    every = [conditions(status(asked)).items() for asked, *_ in STATES.values()]
    assert {(kind, *said) for each in every for kind, said in each} == wished


def crashed(seconds: int, code: int) -> Workforce:
    """A worker that has crashed again, so many seconds after NOW."""
    return Workforce(1, 0, PodTrouble("CrashLoopBackOff", "why", NOW + timedelta(seconds=seconds), code))


def test_a_worker_that_crashes_every_minute_does_not_change_the_state_every_minute() -> None:
    first = troubled("CrashLoopBackOff", 30, code=1)
    again = after(first, 10, workforce=crashed(9, 1))
    assert conditions(status(again))["Ready"] == ("False", "WorkersUnavailable")
    away = troubled("CrashLoopBackOff", 30, code=3)
    again = after(away, 10, workforce=crashed(9, 3))
    assert conditions(status(again))["Ready"] == ("Unknown", "StoreUnavailable")
    assert conditions(status(after(again, 10, workforce=Workforce(1, 1))))["Ready"] == ("True", "Sending")


def test_a_person_who_was_asked_for_is_asked_for_until_a_worker_works() -> None:
    first = absent(301)
    since = Workforce(2, 0, absent_since=NOW - timedelta(seconds=100))
    assert conditions(status(after(first, workforce=since)))["Ready"] == ("False", "WorkersUnavailable")


def test_a_status_that_is_behind_the_spec_is_not_taken_for_good() -> None:
    wire = status(situation())
    assert kstatus(wire, 2) == "InProgress"
    assert argocd("NotificationCampaign", wire, 2)[0] == "Progressing"
    assert argocd("NotificationCampaign", None)[0] == "Progressing"


def test_what_stalls_says_why_in_other_tools_too() -> None:
    wire = status(halted("FailureThreshold"))
    assert argocd("NotificationCampaign", wire)[1].startswith("FailureThreshold: why; to go on, apply")


def test_a_standing_campaign_says_that_it_is_open_and_is_never_complete() -> None:
    idle = {"counts": Counts(sent=300), "leased_batches": 0, "due": 0}
    stream = sending(**idle, import_state="running", stream=True)
    found = conditions(status(situation(stream)))
    assert found["Ready"] == ("True", "Streaming")
    assert (found["Imported"], found["Complete"]) == (("False", "Streaming"), ("False", "InProgress"))
    assert kstatus(status(situation(stream)), 1) == "Current"
