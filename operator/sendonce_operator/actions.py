"""NotificationActions: an order in, applied once per (campaign, name), its result in its status.

The store keeps what an action did, so that one that dies half-way goes on, and one that is made again does nothing.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from sendonce_operator.cluster import ClusterError
from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.actions import (
    ActionSituation,
    action_events,
    action_status,
    early,
    is_over,
    ledger_missing_since,
    requester,
    sends_again,
)
from sendonce_operator.decisions.facts import LEDGER_ANNOTATION, Refusal
from sendonce_operator.ledger import STORE_ERRORS
from sendonce_operator.objects import CAMPAIGN, Action, Campaign, document
from sendonce_operator.paths import API_VERSION, HANDLED_ANNOTATION, Key
from sendonce_operator.publishing import publish
from sendonce_operator.runtime import Runtime
from sendonce_operator.starting import precondition
from sendonce_store import actions, ledger, operating
from sendonce_store.actions import ActionError, Applied, Order, Target
from sendonce_store.connection import Connection
from sendonce_store.operating import KnownKey
from sendonce_store.ordering import order_of
from sendonce_store.spec import ActionSpec, ActionStatus, ActionType
from sendonce_store.standing import Overview

logger = logging.getLogger(__name__)
# beside the longest time-out: how much longer an attempt can be under way
PATIENCE_MARGIN = 15.0
# what it would open nobody would close again
GOING = Refusal("Starting", "the campaign is being deleted: nothing is changed in it any more", stalled=False)
TOO_OLD = (
    "it was made before the campaign said LedgerMissing, and can't have meant that: to send it here, make another "
    "action of type Resume, with another name"
)
COPY = (
    "it is the copy of an action that was applied before, in another store perhaps: to give the order here, make "
    "another action with another name, and without the annotations of this one"
)
CANCELLED = (
    "the campaign is cancelled, and spec.cancel can't be taken back: to send to these after all, delete the campaign, "
    "apply it without spec.cancel, and make an action with another name"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an order: one of them, or nothing yet."""

    applied: Applied | None = None
    refused: str | None = None
    refusal: Refusal | None = None


async def reconcile_action(runtime: Runtime, key: Key) -> bool:
    """Apply an order and show its result; False: it is to be tried again."""
    action = runtime.watched.actions.get(key)
    if action is None or action.subject.deleting or is_over(action.subject.status):
        return True
    outcome = await _attempt(runtime, action)
    situation = ActionSituation(action.subject, runtime.now(), outcome.applied, outcome.refused, outcome.refusal)
    wanted = action_status(situation)
    try:
        await _adopt(runtime, action)
        events = action_events(action.subject.status, ActionStatus.from_wire(wanted))
        await publish(runtime, action, wanted, events)
    except ClusterError as error:
        logger.warning("%s: %s", key.name, error)
        return False
    return outcome.applied is not None or outcome.refused is not None


async def _attempt(runtime: Runtime, action: Action) -> Outcome:
    if action.spec is None:
        refused = refusal.invalid_spec(action.invalid, ActionSpec) if action.invalid else refusal.starting()
        return Outcome(refusal=refused)
    campaign = runtime.watched.campaigns.get(_campaign_key(action, action.spec))
    if campaign is None:
        what = f"spec.campaignRef: NotificationCampaign {action.spec.campaign_ref.name}"
        return Outcome(refusal=refusal.missing(action.subject, what, runtime.now(), "CampaignNotFound"))
    if campaign.subject.deleting:
        return Outcome(refusal=GOING)
    try:
        return await _apply(runtime, action, action.spec, campaign)
    except ActionError as error:
        return Outcome(refused=str(error))
    except STORE_ERRORS as error:
        return Outcome(refusal=refusal.store_unavailable(str(error)))


def _campaign_key(action: Action, spec: ActionSpec) -> Key:
    return Key(CAMPAIGN, action.key.namespace, spec.campaign_ref.name)


async def _apply(runtime: Runtime, action: Action, spec: ActionSpec, campaign: Campaign) -> Outcome:
    async with runtime.slow_ledger.use() as conn:
        known = await operating.find(conn, campaign.key.namespace, campaign.send_key)
        await _refuse_copy(conn, action, spec, known)
        if spec.type is ActionType.RESUME and await _sent_elsewhere(runtime, conn, campaign, known):
            return await _begin_anew(runtime, action, campaign)
        if known is None or known.owner_uid != campaign.subject.uid:
            return Outcome(refusal=refusal.starting())
        if (waits := early(spec, _overview(runtime, campaign.key))) is not None:
            return Outcome(refusal=waits)
        await _prepare(conn, action, spec, campaign, known)
        order = await _order(conn, action, spec, known.id)
        applied = await actions.apply(conn, Target(known.id, known.namespace), order)
    _look_at(runtime, campaign.key)
    return Outcome(applied=applied)


async def _refuse_copy(conn: Connection, action: Action, spec: ActionSpec, known: KnownKey | None) -> None:
    """An order that was done with once, and that this store knows nothing of, came out of a backup: nobody says go."""
    if HANDLED_ANNOTATION not in action.subject.annotations or spec.type not in {ActionType.RESUME, ActionType.PROMOTE}:
        return
    if known is None or await operating.find_action(conn, known.id, action.key.name) is None:
        raise ActionError(COPY)


async def _sent_elsewhere(runtime: Runtime, conn: Connection, campaign: Campaign, known: KnownKey | None) -> bool:
    """Whether the campaign is LedgerMissing, or was never seen here."""
    if known is None:
        return True
    store = await runtime.store_id(conn)
    return known.ended is None and refusal.begun_elsewhere(campaign.subject, store, campaign.send_key) is not None


async def _prepare(conn: Connection, action: Action, spec: ActionSpec, campaign: Campaign, known: KnownKey) -> None:
    """What sends again goes by the object as it is now, of which the row of an ended campaign need not know yet.

    A deadline that was moved on, say: by the old one, everybody would expire again at once. What was begun goes on.
    """
    if not sends_again(spec) or await operating.find_action(conn, known.id, action.key.name) is not None:
        return
    if campaign.spec is None:
        message = f"the spec of {campaign.key.name} can't be read: see its conditions, and mend it first"
        raise ActionError(message)
    if campaign.spec.cancel:
        raise ActionError(CANCELLED)
    if known.ended is not None and known.data_deleted_at is None:
        wished, uid = campaign.spec, campaign.subject.uid
        content = operating.frozen_content(known, wished)
        owner = operating.Owner(uid, campaign.subject.generation, uid)
        await operating.own(conn, known, document(campaign, wished), content, owner)


def _overview(runtime: Runtime, key: Key) -> Overview | None:
    """The campaign as it was last looked at."""
    tracked = runtime.tracked.get(key)
    return tracked.shown.overview if tracked is not None and tracked.shown is not None else None


async def _order(conn: Connection, action: Action, spec: ActionSpec, campaign_id: int) -> Order:
    patience = await ledger.longest_timeout(conn, campaign_id) + PATIENCE_MARGIN
    return order_of(action.key.name, spec, patience, requester(action.subject))


async def _begin_anew(runtime: Runtime, action: Action, campaign: Campaign) -> Outcome:
    """A person takes it on them that no store has sent this: the object forgets that one had it.

    An order that was there before that was asked for means something else: it came with its campaign out of git, say.
    """
    asked = ledger_missing_since(campaign.subject)
    if asked is None:
        return Outcome(refusal=refusal.starting())
    if action.subject.created_at < asked:
        raise ActionError(TOO_OLD)
    metadata = {"uid": campaign.subject.uid, "annotations": {LEDGER_ANNOTATION: None}}
    try:
        body = await runtime.cluster.patch(campaign.key.path, {"metadata": metadata})
        version = body["metadata"]["resourceVersion"]
        start = {"metadata": precondition(campaign, version), "status": {"startTime": None}}
        runtime.watched.note(CAMPAIGN, await runtime.cluster.patch(campaign.key.status_path, start))
    except ClusterError as error:
        logger.warning("%s: %s", campaign.key.name, error)
        return Outcome(refusal=refusal.starting())
    _look_at(runtime, campaign.key)
    return Outcome(applied=Applied(0, 0, "the campaign begins anew in this store"))


def _look_at(runtime: Runtime, key: Key) -> None:
    """Rows changed: what had been settled may be open again."""
    tracked = runtime.tracked.get(key)
    if tracked is not None:
        tracked.settled = False
        if tracked.refusal is not None:
            tracked.retry_at = 0.0
    runtime.touch(key)


async def _adopt(runtime: Runtime, action: Action) -> None:
    """The action goes with its campaign: an ownerReference, unless it has one."""
    if action.spec is None or action.owned:
        return
    campaign = runtime.watched.campaigns.get(_campaign_key(action, action.spec))
    if campaign is None:
        return
    owner = {"apiVersion": API_VERSION, "kind": CAMPAIGN, "name": campaign.key.name, "uid": campaign.subject.uid}
    metadata = {"uid": action.subject.uid, "ownerReferences": [owner]}
    await runtime.cluster.patch(action.key.path, {"metadata": metadata})
