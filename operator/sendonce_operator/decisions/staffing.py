"""Whether the workers that a campaign needs are there; if not, why, and whether a person is needed.

What the cluster says of a Pod that ran and ended comes before what the store says of a worker: one that crashes again
and again is in the store as one that was heard of just now. What may pass by itself is waited for, in words; after five
minutes a person is asked for. What was once said is not taken back before a worker works, or a Pod that is restarted
every minute would change the state of its campaign every minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sendonce_operator.decisions.conditions import find
from sendonce_operator.decisions.facts import PodTrouble, Situation, Workforce
from sendonce_store.masking import mask
from sendonce_store.standing import Overview

# a Pod that is being started looks like one that can't be, for a moment
SHORT_PATIENCE = timedelta(seconds=20)
# what may pass by itself: a node is being added, a large image pulled, the store restarted
LONG_PATIENCE = timedelta(minutes=5)
# wanted, and neither a worker nor a reason: said after so long
SILENT_PATIENCE = timedelta(seconds=60)
PASSING_REASONS = frozenset({"Unschedulable", "SchedulerError", "SchedulingGated"})
# the worker's exit code when it can't reach the store (sendonce-worker)
STORE_EXIT = 3
# a container ran and ended: the worker that the store heard of may be this very one
ENDED_REASONS = frozenset({"CrashLoopBackOff", "Error", "OOMKilled", "ContainerCannotRun", "StartError", "Completed"})
NAME_TAKEN = "NameTaken"
# what a worker's last words may begin with
WORKER_REASONS = frozenset({"SecretNotFound", "CredentialsRejected", "SourceUnreadable", "InvalidSpec"})


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why no worker works. `stalled`: a person is needed; else it is still waited for."""

    reason: str
    message: str
    stalled: bool


def name_taken(name: str, since: datetime) -> PodTrouble:
    """There is a Deployment of the name that the campaign's workers need, and it is not the campaign's."""
    fix = "delete or rename it, or apply the campaign under another name with its sendKey"
    return PodTrouble(NAME_TAKEN, f"Deployment {name} is there already and not this campaign's: {fix}", since)


def shortage(situation: Situation, overview: Overview) -> Shortage | None:
    """What keeps the workers from working; None where they work, or where none are needed."""
    force = situation.workforce
    if force is None or force.desired == 0:
        return None
    if overview.worker_problem is not None and overview.workers_alive:
        return _explained(overview.worker_problem)
    if force.ready > 0:
        return None
    trouble = force.trouble
    if overview.workers_alive and (trouble is None or trouble.reason not in ENDED_REASONS):
        return None
    return _silent(situation, force) if trouble is None else _troubled(situation, trouble)


def _troubled(situation: Situation, trouble: PodTrouble) -> Shortage | None:
    found = _explained(_words(trouble))
    if _said(situation, found.reason):
        return found
    age = situation.now - trouble.since
    away = trouble.exit_code == STORE_EXIT
    if age < SHORT_PATIENCE and not (away and _ready_reason(situation) == "StoreUnavailable"):
        return None
    if age >= LONG_PATIENCE or not (away or trouble.reason in PASSING_REASONS):
        return found
    reason = "StoreUnavailable" if away else "Starting"
    return Shortage(reason, f"no worker is running yet: {found.message}", stalled=False)


def _silent(situation: Situation, force: Workforce) -> Shortage | None:
    since = force.absent_since
    if since is None or situation.now - since < SILENT_PATIENCE:
        return None
    message = f"no worker runs since {since:%H:%M:%S} UTC, {force.desired} wanted; see `kubectl describe deployment`"
    if situation.now - since < LONG_PATIENCE and not _said(situation, "WorkersUnavailable"):
        return Shortage("Starting", message, stalled=False)
    return Shortage("WorkersUnavailable", message, stalled=True)


def _said(situation: Situation, reason: str) -> bool:
    """Whether the last status asked for a person for this reason."""
    stalled = find(situation.old.conditions, "Stalled")
    return stalled is not None and stalled.reason == reason


def _ready_reason(situation: Situation) -> str | None:
    found = find(situation.old.conditions, "Ready")
    return None if found is None else found.reason


def _words(trouble: PodTrouble) -> str:
    """The worker's own last words where they explain themselves; else those of the cluster."""
    message = trouble.message.strip() or "no reason was given; see `kubectl describe pod`"
    if message.startswith("SENDONCE_DSN_FILE"):
        missing = "the Secret with the store's address is not in this namespace; `sendonce tenant add` makes it"
        return f"SecretNotFound: {missing} ({message})"
    if message.partition(": ")[0] in WORKER_REASONS or trouble.reason == NAME_TAKEN:
        return message
    code = f", exit code {trouble.exit_code}" if trouble.exit_code is not None else ""
    return f"a worker's Pod ({trouble.reason}{code}): {message}"


def _explained(problem: str) -> Shortage:
    """The words of a worker may begin with the reason: "SecretNotFound: Secret smtp is not there"."""
    word, colon, message = problem.partition(": ")
    if colon and word in WORKER_REASONS:
        return Shortage(word, mask(message), stalled=True)
    return Shortage("WorkersUnavailable", mask(problem), stalled=True)
