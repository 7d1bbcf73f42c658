"""Why nothing can be done for an object, or not yet: the reason of its conditions, and the fix. No I/O.

A refusal that is `stalled` needs a person; the others pass by themselves, and are looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from sendonce_operator.decisions.conditions import find, reason_of
from sendonce_operator.decisions.facts import LEDGER_ANNOTATION, Refusal, Subject
from sendonce_operator.decisions.moments import moment
from sendonce_store.spec import (
    CHANNELS_OF_TYPE,
    AllowedNamespaces,
    CampaignStatus,
    Channel,
    LabelRequirement,
    LabelSelector,
    ProviderRef,
    ProviderType,
    SpecModel,
    field_name,
)
from sendonce_store.spec.namespaces import LabelOperator, NamespacesFrom
from sendonce_store.spec.wording import findings

# objects that are applied together arrive in any order
REFERENCE_PATIENCE = timedelta(minutes=2)
# problems that are spelled out of a spec with many
MOST_PROBLEMS = 5


def starting() -> Refusal:
    """The object has been seen; nothing has been done yet."""
    return Refusal("Starting", "seen by the operator, which is making its rows", stalled=False)


def store_unavailable(error: str) -> Refusal:
    """The store can't be reached. What is being sent goes on; nothing new is begun."""
    message = f"the store can't be reached, and is tried again: {error}"
    return Refusal("StoreUnavailable", message, stalled=False)


def unstorable(error: str) -> Refusal:
    """A spec that the store can't keep though the API server can: JSON may hold NUL characters, PostgreSQL may not."""
    words = f"spec: the store can't keep it: take out NUL characters (\\u0000): {' '.join(error.split())}"
    return Refusal("InvalidSpec", words, stalled=True)


def broken(error: Exception) -> Refusal:
    """An error of the operator's own."""
    words = f"an error in the operator, which tries again ({type(error).__name__}): see its log"
    return Refusal("Starting", words, stalled=False)


def invalid_spec(error: ValidationError, model: type[SpecModel], root: str = "spec") -> Refusal:
    """A spec that the model refuses though the API server took it; names every field, its problem and the fix."""
    found = [f"{field_name((root, *path))}: {words}" for path, words in findings(error, model, echo=False)]
    more = len(found) - MOST_PROBLEMS
    text = "; ".join(found[:MOST_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
    return Refusal("InvalidSpec", text, stalled=True)


def invalid_field(field: str, problem: str) -> Refusal:
    """A field that is wrong in a way that only reading on can find, such as a template that does not compile."""
    return Refusal("InvalidSpec", f"{field}: {problem}", stalled=True)


def unfit_channel(channel: Channel, ref: ProviderRef, kind: ProviderType) -> Refusal | None:
    """A provider whose type can't serve the channel."""
    if channel in CHANNELS_OF_TYPE[kind]:
        return None
    served = ", ".join(sorted(CHANNELS_OF_TYPE[kind]))
    problem = f"{ref.kind} {ref.name} is of type {kind}, which serves {served}; name another provider"
    return invalid_field(f"spec.messages[{channel}].providerRef", problem)


def missing(subject: Subject[Any], what: str, now: datetime, reason: str = "ProviderNotFound") -> Refusal:
    """An object that this one names is not there: waited for, for two minutes, then `reason`.

    `what` says where it is named and what it is: "spec.messages[Email].providerRef: NotificationProvider smtp".
    """
    since = _waits_since(subject, reason, now)
    if since is not None and now - since >= REFERENCE_PATIENCE:
        return Refusal(reason, f"{what} is not there; create it, or name another", stalled=True)
    until = (since or now) + REFERENCE_PATIENCE
    return Refusal("WaitingForReference", f"{what} is not there; waited for until {moment(until)}", stalled=False)


def _waits_since(subject: Subject[Any], reason: str, now: datetime) -> datetime | None:
    """When the wait began; None: with this look. An edit begins it anew, what was given up stays so until then."""
    old = subject.status
    if old is None or old.observed_generation != subject.generation:
        return None
    if reason_of(old.conditions, "Stalled") == reason:
        return now - REFERENCE_PATIENCE
    waiting = find(old.conditions, "Reconciling")
    return waiting.last_transition_time if waiting and waiting.reason == "WaitingForReference" else None


def not_allowed(name: str, allowed: AllowedNamespaces, namespace: str, labels: Mapping[str, str]) -> Refusal | None:
    """A cluster provider that this namespace may not use; `labels` are the namespace's."""
    if allowed.from_ is NamespacesFrom.ALL or (allowed.selector and _selects(allowed.selector, labels)):
        return None
    message = (
        f"ClusterNotificationProvider {name} is not open to namespace {namespace}: the labels of the namespace do not "
        "match its allowedNamespaces.selector; label the namespace, or name another provider"
    )
    return Refusal("ProviderNotAllowed", message, stalled=True)


def _selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    exact = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return exact and all(_holds(requirement, labels) for requirement in selector.match_expressions)


def _holds(requirement: LabelRequirement, labels: Mapping[str, str]) -> bool:
    """As Kubernetes has it: NotIn holds for a namespace without the label as well."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case LabelOperator.IN:
            return value in requirement.values
        case LabelOperator.NOT_IN:
            return value not in requirement.values
        case LabelOperator.EXISTS:
            return value is not None
        case LabelOperator.DOES_NOT_EXIST:
            return value is None


def send_key_conflict(send_key: str, why: str) -> Refusal:
    """The send key belongs to somebody else; `why`: other content, or an owner that still lives."""
    message = f"send key {send_key} is taken: {why}; nothing is sent. To send this campaign, give it another sendKey"
    return Refusal("SendKeyConflict", message, stalled=True)


def ledger_missing(subject: Subject[CampaignStatus], store_id: str, send_key: str) -> Refusal | None:
    """An object that says that it has rows, where the store has none: sending could reach everybody again.

    Ask where the store has no row of the send key. None: the object has never had one.
    """
    said = subject.annotations.get(LEDGER_ANNOTATION)
    if said is None and (subject.status is None or subject.status.start_time is None):
        return None
    whose = f"store {said}, and this is store {store_id}"
    if said in {None, store_id}:
        # somebody may have taken the annotation away: that it has started is as good a sign
        whose = "this store, which has lost it" if said else f"another store: it has started, and this is {store_id}"
    return _elsewhere(send_key, whose)


def begun_elsewhere(subject: Subject[CampaignStatus], store_id: str, send_key: str) -> Refusal | None:
    """An object that another store has sent for since this one made its row: this row knows nothing of that.

    Ask where the store has an unfinished row of the send key. None: what the object says fits the row.
    """
    said = subject.annotations.get(LEDGER_ANNOTATION)
    return None if said in {None, store_id} else _elsewhere(send_key, f"store {said}, and this is store {store_id}")


def _elsewhere(send_key: str, whose: str) -> Refusal:
    message = (
        f"the record of send key {send_key} was made in {whose}: it may have been sent already. Restore the record, "
        "or give the order to send it here: a NotificationAction of type Resume"
    )
    return Refusal("LedgerMissing", message, stalled=True)
