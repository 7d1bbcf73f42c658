"""Situations of a campaign for every state that its conditions know, with what `Ready` says in each.

In: the one that sends. Out: `STATES`, for every test that asks what is made of a state: a person, kstatus, Argo CD.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.operator_cases.situations import COMPLETE, IDLE, NOW, SUBJECT, after, sending, situation, spec

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.facts import (
    LEDGER_ANNOTATION,
    Adoption,
    Mode,
    PodTrouble,
    Refusal,
    Situation,
    Workforce,
)
from sendonce_operator.decisions.progress import Progress
from sendonce_store.spec import AllowedNamespaces, CampaignSpec
from sendonce_store.standing import Counts

LATER = NOW + timedelta(hours=2)
NONE = Workforce()
AGO = NOW - timedelta(minutes=10)


def failed(reason: str, **changes: Any) -> Situation:
    over = {"counts": Counts(cancelled=1000), "leased_batches": 0, "due": 0, "completed_at": NOW}
    overview = sending(**(over | changes), ended="failed", ended_reason=reason, ended_message="why")
    return situation(overview, workforce=NONE)


def halted(reason: str) -> Situation:
    return situation(sending(**IDLE, halt_reason=reason, halt_message="why"), workforce=NONE)


def troubled(reason: str, seconds: float, message: str = "why", code: int | None = None) -> Situation:
    trouble = PodTrouble(reason, message, NOW - timedelta(seconds=seconds), code)
    return situation(sending(workers_alive=0), workforce=Workforce(1, 0, trouble))


def absent(seconds: float) -> Situation:
    since = NOW - timedelta(seconds=seconds)
    return situation(sending(workers_alive=0), workforce=Workforce(2, 0, absent_since=since))


NOT_FOUND = Refusal("ProviderNotFound", "spec.messages[Email].providerRef: why", stalled=True)
STALE = Progress(NOW, 300, 1.0, NOW - timedelta(minutes=20))
CRASH = PodTrouble("CrashLoopBackOff", "why", AGO, 1)
CRASHED = situation(workforce=Workforce(1, 0, CRASH))
CRASHES_BESIDE = Workforce(2, 1, CRASH)
SUSPENDED = CampaignSpec.from_wire(spec(suspend=True).to_wire())
CANCEL = spec(cancel=True)
OTHERS = AllowedNamespaces.from_wire({"from": "Selector", "selector": {"matchLabels": {"team": "crm"}}})
RESTORED = replace(SUBJECT, annotations={LEDGER_ANNOTATION: "elsewhere"})

# state: situation, Ready, other conditions than those of a campaign that sends, Argo CD's health
PLAIN = {
    "Accepted": ("True", "Accepted"),
    "Imported": ("True", "Imported"),
    "Suspended": ("False", "Active"),
    "Complete": ("False", "InProgress"),
    "Failed": ("False", "NotFailed"),
}
UNREAD = {"Accepted": ("Unknown", "Starting"), "Imported": ("False", "NotStarted")}
STATES: dict[str, tuple[Situation, tuple[str, str], dict[str, tuple[str, str]], str]] = {
    "sending": (situation(), ("True", "Sending"), {}, "Healthy"),
    "not looked at yet": (situation(None, workforce=NONE), ("Unknown", "Starting"), UNREAD, "Progressing"),
    "starting": (situation(None, refusal=refusal.starting()), ("Unknown", "Starting"), UNREAD, "Progressing"),
    "import not begun": (
        situation(sending(**IDLE | {"counts": Counts()}, import_state="pending")),
        ("True", "Importing"),
        {"Imported": ("False", "NotStarted")},
        "Healthy",
    ),
    "importing": (
        situation(sending(**IDLE | {"counts": Counts(pending=3)}, import_state="running")),
        ("True", "Importing"),
        {"Imported": ("False", "Importing")},
        "Healthy",
    ),
    "scheduled": (situation(sending(**IDLE, start_at=LATER), workforce=NONE), ("True", "Scheduled"), {}, "Healthy"),
    "quiet hours": (
        situation(sending(**IDLE, waiting=700, next_due=LATER, wait_reason="quiet_hours"), workforce=NONE),
        ("True", "QuietHours"),
        {},
        "Healthy",
    ),
    "waiting for a retry": (
        situation(sending(**IDLE, waiting=700, next_due=LATER, wait_reason="temporary")),
        ("True", "Retrying"),
        {},
        "Healthy",
    ),
    "provider paused": (
        situation(sending(**IDLE, provider_paused_until=LATER, paused_provider="smtp", pause_message="slow down")),
        ("True", "ProviderPaused"),
        {},
        "Healthy",
    ),
    "provider suspended": (
        situation(sending(**IDLE, suspended_provider="smtp"), workforce=NONE),
        ("True", "ProviderPaused"),
        {},
        "Healthy",
    ),
    "canary observed": (
        situation(sending(**IDLE, rollout_stage="observing", rollout_since=NOW), workforce=NONE),
        ("True", "Observing"),
        {},
        "Healthy",
    ),
    "awaiting promotion": (
        situation(sending(**IDLE, rollout_stage="awaiting", rollout_since=NOW), workforce=NONE),
        ("True", "AwaitingPromotion"),
        {"Suspended": ("True", "AwaitingPromotion")},
        "Suspended",
    ),
    "suspended": (
        situation(sending(**IDLE, suspended=True), spec=SUSPENDED, workforce=NONE),
        ("True", "Suspended"),
        {"Suspended": ("True", "SpecSuspend")},
        "Suspended",
    ),
    "suspended, the store has not heard of it": (
        situation(spec=SUSPENDED),
        ("True", "Suspended"),
        {"Suspended": ("True", "SpecSuspend")},
        "Suspended",
    ),
    "standby": (
        situation(sending(**IDLE), mode=Mode.STANDBY, workforce=NONE),
        ("True", "Suspended"),
        {"Suspended": ("True", "Standby")},
        "Suspended",
    ),
    "breaker": (
        halted("FailureThreshold"),
        ("False", "FailureThreshold"),
        {"Suspended": ("True", "FailureThreshold")},
        "Degraded",
    ),
    "canary failed": (
        halted("CanaryFailed"),
        ("False", "CanaryFailed"),
        {"Suspended": ("True", "CanaryFailed")},
        "Degraded",
    ),
    "credentials": (
        halted("CredentialsRejected"),
        ("False", "CredentialsRejected"),
        {"Suspended": ("True", "CredentialsRejected")},
        "Degraded",
    ),
    "cancelling": (situation(sending(cancelled=True), spec=CANCEL), ("True", "Cancelled"), {}, "Healthy"),
    "cancelled": (
        failed("Cancelled"),
        ("True", "Cancelled"),
        {"Complete": ("False", "Failed"), "Failed": ("True", "Cancelled")},
        "Healthy",
    ),
    "source unreadable": (
        failed("SourceUnreadable", import_state="failed"),
        ("False", "SourceUnreadable"),
        {
            "Imported": ("False", "SourceUnreadable"),
            "Complete": ("False", "Failed"),
            "Failed": ("True", "SourceUnreadable"),
        },
        "Degraded",
    ),
    "unexpected count": (
        failed("UnexpectedCount"),
        ("False", "UnexpectedCount"),
        {
            "Imported": ("False", "UnexpectedCount"),
            "Complete": ("False", "Failed"),
            "Failed": ("True", "UnexpectedCount"),
        },
        "Degraded",
    ),
    "too many rejected": (
        failed("TooManyRejected"),
        ("False", "TooManyRejected"),
        {
            "Imported": ("False", "TooManyRejected"),
            "Complete": ("False", "Failed"),
            "Failed": ("True", "TooManyRejected"),
        },
        "Degraded",
    ),
    "deadline before import": (
        failed("DeadlineBeforeImport", import_state="running"),
        ("False", "DeadlineBeforeImport"),
        {
            "Imported": ("False", "Importing"),
            "Complete": ("False", "Failed"),
            "Failed": ("True", "DeadlineBeforeImport"),
        },
        "Degraded",
    ),
    "complete": (
        situation(sending(**COMPLETE), workforce=NONE),
        ("True", "SomeUndelivered"),
        {"Complete": ("True", "SomeUndelivered")},
        "Healthy",
    ),
    "all sent": (
        situation(sending(**COMPLETE | {"ended_reason": "AllSent", "counts": Counts(sent=1000)}), workforce=NONE),
        ("True", "AllSent"),
        {"Complete": ("True", "AllSent")},
        "Healthy",
    ),
    "complete, and taken up again by a Retry": (
        after(situation(sending(**COMPLETE)), overview=sending()),
        ("True", "Sending"),
        {"Complete": ("False", "Retrying")},
        "Healthy",
    ),
    "already sent": (
        situation(sending(**COMPLETE), adoption=Adoption.ALREADY_SENT, workforce=NONE),
        ("True", "AlreadySent"),
        {"Imported": ("True", "AlreadySent"), "Complete": ("True", "AlreadySent")},
        "Healthy",
    ),
    "complete, and suspended since": (
        situation(sending(**COMPLETE, suspended=True), spec=SUSPENDED, workforce=NONE),
        ("True", "SomeUndelivered"),
        {"Complete": ("True", "SomeUndelivered")},
        "Healthy",
    ),
    "complete, its provider was deleted": (
        situation(sending(**COMPLETE), refusal=NOT_FOUND, workforce=NONE),
        ("True", "SomeUndelivered"),
        {"Complete": ("True", "SomeUndelivered")},
        "Healthy",
    ),
    "waiting for a provider": (
        situation(None, refusal=refusal.missing(SUBJECT, "x", NOW), workforce=NONE),
        ("Unknown", "WaitingForReference"),
        UNREAD,
        "Progressing",
    ),
    "no provider": (
        situation(None, refusal=NOT_FOUND, workforce=NONE),
        ("False", "ProviderNotFound"),
        UNREAD | {"Accepted": ("False", "ProviderNotFound")},
        "Degraded",
    ),
    "provider deleted while sending": (
        situation(refusal=NOT_FOUND),
        ("False", "ProviderNotFound"),
        {"Accepted": ("False", "ProviderNotFound")},
        "Degraded",
    ),
    "a provider of other namespaces": (
        situation(None, refusal=refusal.not_allowed("smtp", OTHERS, "shop", {}), workforce=NONE),
        ("False", "ProviderNotAllowed"),
        UNREAD | {"Accepted": ("False", "ProviderNotAllowed")},
        "Degraded",
    ),
    "a spec that can't be read": (
        situation(None, spec=None, refusal=refusal.invalid_field("spec.schedule", "why"), workforce=NONE),
        ("False", "InvalidSpec"),
        UNREAD | {"Accepted": ("False", "InvalidSpec")},
        "Degraded",
    ),
    "its store is gone": (
        situation(None, refusal=refusal.ledger_missing(RESTORED, "here", "spring"), workforce=NONE),
        ("False", "LedgerMissing"),
        UNREAD | {"Accepted": ("False", "LedgerMissing")},
        "Degraded",
    ),
    "send key conflict": (
        situation(None, refusal=refusal.send_key_conflict("spring", "other content"), workforce=NONE),
        ("False", "SendKeyConflict"),
        UNREAD | {"Accepted": ("False", "SendKeyConflict")},
        "Degraded",
    ),
    "store away": (
        situation(None, refusal=refusal.store_unavailable("no route")),
        ("Unknown", "StoreUnavailable"),
        UNREAD,
        "Progressing",
    ),
    "worker without its Secret": (
        situation(sending(worker_problem="SecretNotFound: Secret smtp is not there")),
        ("False", "SecretNotFound"),
        {},
        "Degraded",
    ),
    "image can't be pulled": (troubled("ImagePullBackOff", 30), ("False", "WorkersUnavailable"), {}, "Degraded"),
    "image can't be pulled, just now": (troubled("ErrImagePull", 5), ("True", "Sending"), {}, "Healthy"),
    "no room for a worker": (troubled("Unschedulable", 30), ("Unknown", "Starting"), {}, "Progressing"),
    "no room for long": (troubled("Unschedulable", 301), ("False", "WorkersUnavailable"), {}, "Degraded"),
    "crash for a template": (
        troubled(
            "CrashLoopBackOff", 30, "InvalidSpec: messages[Email].template.text, line 2: there is no filter 'x'", 2
        ),
        ("False", "InvalidSpec"),
        {},
        "Degraded",
    ),
    "crash without a Secret": (
        troubled("CrashLoopBackOff", 30, "SecretNotFound: Secret smtp is not there", 2),
        ("False", "SecretNotFound"),
        {},
        "Degraded",
    ),
    "crash without the store's Secret": (
        troubled("CrashLoopBackOff", 30, "SENDONCE_DSN_FILE: /etc/x can't be read", 2),
        ("False", "SecretNotFound"),
        {},
        "Degraded",
    ),
    "crash without the store": (
        troubled("CrashLoopBackOff", 30, "the store can't be reached", 3),
        ("Unknown", "StoreUnavailable"),
        {},
        "Progressing",
    ),
    "no Pod": (troubled("FailedCreate", 30, "exceeded quota"), ("False", "WorkersUnavailable"), {}, "Degraded"),
    "no worker, no reason": (absent(61), ("Unknown", "Starting"), {}, "Progressing"),
    "no worker, no reason, for long": (absent(301), ("False", "WorkersUnavailable"), {}, "Degraded"),
    "no worker just now": (absent(30), ("True", "Sending"), {}, "Healthy"),
    "some workers have no room": (
        situation(workforce=Workforce(5, 3, PodTrouble("Unschedulable", "why", AGO))),
        ("True", "Sending"),
        {},
        "Healthy",
    ),
    "a worker that no Pod shows": (
        situation(sending(workers_alive=1), workforce=Workforce(1, 0, PodTrouble("Unschedulable", "why", AGO), AGO)),
        ("True", "Sending"),
        {},
        "Healthy",
    ),
    "a worker that crashes again and again": (
        situation(sending(workers_alive=1), workforce=Workforce(1, 0, PodTrouble("CrashLoopBackOff", "why", AGO, 1))),
        ("False", "WorkersUnavailable"),
        {},
        "Degraded",
    ),
    "a cancelled import without a worker": (
        replace(absent(301), spec=CANCEL),
        ("False", "WorkersUnavailable"),
        {},
        "Degraded",
    ),
    "no workers needed": (
        situation(sending(**IDLE, workers_alive=0), workforce=NONE),
        ("True", "Sending"),
        {},
        "Healthy",
    ),
    "cancelled after the breaker": (
        situation(sending(cancelled=True, halt_reason="FailureThreshold", halt_message="why")),
        ("True", "Cancelled"),
        {},
        "Healthy",
    ),
    "suspended, its worker has crashed": (
        replace(CRASHED, spec=SUSPENDED),
        ("True", "Suspended"),
        {"Suspended": ("True", "SpecSuspend")},
        "Suspended",
    ),
    "one worker crashes, others work": (replace(CRASHED, workforce=CRASHES_BESIDE), ("True", "Sending"), {}, "Healthy"),
    "a worker had a problem, none is needed any more": (
        situation(sending(worker_problem="SecretNotFound: x"), workforce=NONE),
        ("True", "Sending"),
        {},
        "Healthy",
    ),
    "a Pod that ends could not start, none is needed any more": (
        replace(CRASHED, workforce=Workforce(0, 0, CRASH)),
        ("True", "Sending"),
        {},
        "Healthy",
    ),
    "nothing moves": (situation(progress=STALE), ("False", "NoProgress"), {}, "Degraded"),
    "nothing moves, but nothing could": (
        situation(sending(provider_paused_until=LATER), progress=STALE),
        ("True", "Sending"),
        {},
        "Healthy",
    ),
}
