"""Whose campaign is it: an object and its send key in, the row that it acts for out, or the reason why it may not.

    no row                     the object begins it, unless its annotation says that a store had one: LedgerMissing
    a row of this object       goes on; an edit replaces the content as long as nothing has used it
    an unfinished row, and     the annotation of another store: LedgerMissing, as that one has sent since
    a row of another object    SendKeyConflict while that one lives or the content differs; else this one takes over

A campaign that has ended is taken over too, and then only shown: it is never sent again.
"""

from __future__ import annotations

from dataclasses import dataclass

from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.facts import Adoption
from sendonce_operator.objects import CAMPAIGN, Campaign, document
from sendonce_operator.paths import Key
from sendonce_operator.providing import provide
from sendonce_operator.runtime import Runtime
from sendonce_operator.signals import BusyError, GoneError, RefusedError
from sendonce_operator.templates import with_templates
from sendonce_store import campaigns, operating
from sendonce_store.campaigns import Adopted, ProviderNotFoundError
from sendonce_store.connection import Connection
from sendonce_store.operating import KnownKey, Owner
from sendonce_store.spec import CampaignSpec, content_hash


@dataclass(frozen=True, slots=True)
class Bound:
    """The row that an object acts for."""

    campaign_id: int
    adoption: Adoption
    ended: bool
    cancelled: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """An object that asks for its send key."""

    runtime: Runtime
    conn: Connection
    campaign: Campaign
    spec: CampaignSpec

    @property
    def send_key(self) -> str:
        """The send key that counts."""
        return self.campaign.send_key

    def owner(self, previous: str | None) -> Owner:
        """The object as the one that acts."""
        subject = self.campaign.subject
        return Owner(subject.uid, subject.generation, previous)


async def bind(claim: Claim) -> Bound:
    """Find or make the row. Raises RefusedError, BusyError, GoneError, ClusterError and the store's errors."""
    known = await operating.find(claim.conn, claim.campaign.key.namespace, claim.send_key)
    if known is None:
        return await _begin(claim)
    if known.ended is None:
        await _require_no_other_store(claim)
    if known.owner_uid != claim.campaign.subject.uid:
        await _take_over(claim, known)
        adoption = Adoption.CONTINUED if known.completed_at is None else Adoption.ALREADY_SENT
    else:
        adoption = _adoption(known)
        await (_go_on if known.ended is None else _note_wishes)(claim, known)
    return Bound(known.id, adoption, known.ended is not None, known.cancelled_at is not None)


async def _require_no_other_store(claim: Claim) -> None:
    """The annotation is written after the row is made, and by nobody else: another store's is one of a later start."""
    store = await claim.runtime.store_id(claim.conn)
    elsewhere = refusal.begun_elsewhere(claim.campaign.subject, store, claim.send_key)
    if elsewhere is not None:
        raise RefusedError(elsewhere)


def _adoption(known: KnownKey) -> Adoption:
    """What the owner found when it came, told from the store's times, so that another process says the same."""
    if known.owned_at is None:
        return Adoption.NEW
    came_late = known.completed_at is not None and known.owned_at > known.completed_at
    return Adoption.ALREADY_SENT if came_late else Adoption.CONTINUED


async def _resolved(claim: Claim) -> CampaignSpec:
    return await with_templates(claim.runtime, claim.campaign, claim.spec)


# --- no row ----------------------------------------------------------------------------------------------------------
async def _begin(claim: Claim) -> Bound:
    runtime, campaign = claim.runtime, claim.campaign
    missing = refusal.ledger_missing(campaign.subject, await runtime.store_id(claim.conn), claim.send_key)
    if missing is not None:
        raise RefusedError(missing)
    spec = await _resolved(claim)
    await provide(runtime, claim.conn, campaign, spec)
    async with claim.conn.transaction():
        campaign_id = await _insert(claim, spec)
        await still_there(runtime, campaign)
    return Bound(campaign_id, Adoption.NEW, ended=False, cancelled=False)


async def _insert(claim: Claim, spec: CampaignSpec) -> int:
    conn, subject = claim.conn, claim.campaign.subject
    wanted = document(claim.campaign, claim.spec)
    try:
        made = await campaigns.adopt(conn, wanted, spec, subject.uid)
    except ProviderNotFoundError as error:
        # it was written a moment ago, by what this process believes: believe it no longer
        claim.runtime.synced.clear()
        raise BusyError(str(error)) from error
    known = await operating.find(conn, subject.namespace, claim.send_key)
    mine = claim.owner(subject.uid)
    if made.kind is not Adopted.CREATED or known is None or not await operating.own(conn, known, wanted, spec, mine):
        message = f"another operator made the row of {claim.send_key} at the same moment"
        raise BusyError(message)
    return known.id


async def still_there(runtime: Runtime, campaign: Campaign) -> None:
    """See that the object lives. Raises GoneError, ClusterError."""
    body = await runtime.cluster.find(campaign.key.path)
    if body is None or body["metadata"]["uid"] != campaign.subject.uid or body["metadata"].get("deletionTimestamp"):
        message = f"{campaign.key.name} is gone, or going"
        raise GoneError(message)


# --- a row of this object --------------------------------------------------------------------------------------------
async def _go_on(claim: Claim, known: KnownKey) -> None:
    status = claim.campaign.subject.status
    if status is None or status.start_time is None:
        await (_freeze_anew if known.untouched else _require_same_content)(claim, known)
    elif known.generation < claim.campaign.subject.generation:
        await _own(claim, known, operating.frozen_content(known, claim.spec))


async def _note_wishes(claim: Claim, known: KnownKey) -> None:
    """It has ended; how long its data is kept may still change, and a Retry goes by what its object says by then."""
    if known.generation < claim.campaign.subject.generation and known.data_deleted_at is None:
        await _own(claim, known, operating.frozen_content(known, claim.spec))


async def _freeze_anew(claim: Claim, known: KnownKey) -> None:
    """Nothing has used the row yet: its content is what the object says now."""
    spec = await _resolved(claim)
    await provide(claim.runtime, claim.conn, claim.campaign, spec)
    wanted = document(claim.campaign, claim.spec)
    if content_hash(document(claim.campaign, spec)) == known.content_hash:
        await _own(claim, known, spec)
    elif not await operating.refreeze(claim.conn, known, wanted, spec, claim.owner(known.owner_uid)):
        message = f"{claim.send_key} was begun at this moment, or its object has been edited again"
        raise BusyError(message)


async def _require_same_content(claim: Claim, known: KnownKey) -> None:
    """Taken over, and edited before its start was noted: the API server let that pass, and the row's content stays."""
    spec = await _resolved(claim)
    _require_content_of(known, claim, spec)
    if known.generation < claim.campaign.subject.generation:
        await _own(claim, known, spec)


async def _own(claim: Claim, known: KnownKey, spec: CampaignSpec) -> None:
    wanted = document(claim.campaign, claim.spec)
    if not await operating.own(claim.conn, known, wanted, spec, claim.owner(known.owner_uid)):
        message = f"the row of {claim.send_key} was taken by another object, or is ahead of what is seen here"
        raise BusyError(message)


# --- a row of another object -----------------------------------------------------------------------------------------
async def _take_over(claim: Claim, known: KnownKey) -> None:
    why = await _owner_lives(claim, known)
    if why is not None:
        raise RefusedError(refusal.send_key_conflict(claim.send_key, why))
    spec = await _resolved(claim)
    _require_content_of(known, claim, spec)
    if known.ended is None:
        await provide(claim.runtime, claim.conn, claim.campaign, spec)
    await _own(claim, known, spec)


def _require_content_of(known: KnownKey, claim: Claim, spec: CampaignSpec) -> None:
    if content_hash(document(claim.campaign, spec)) != known.content_hash:
        why = "it belongs to a campaign with other content, which is frozen once a campaign exists"
        raise RefusedError(refusal.send_key_conflict(claim.send_key, why))


async def _owner_lives(claim: Claim, known: KnownKey) -> str | None:
    """Why the row's owner is not gone; None where it is. One of another cluster shows only by being looked after."""
    if known.owner_uid is None:
        return None
    owner = await claim.runtime.cluster.find(Key(CAMPAIGN, known.namespace, known.name).path)
    if owner is not None and owner["metadata"]["uid"] == known.owner_uid:
        return f"NotificationCampaign {known.name} has it"
    silent = known.owner_silent
    if silent is not None and silent < claim.runtime.settings.owner_silence:
        return f"an object that is not in this cluster has it; an operator looked after it {silent:.0f} s ago"
    return None
