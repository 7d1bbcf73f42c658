"""The records of people as programs get them. Pure.

Words and verdicts are those of the pages; `recipient` is what names somebody in an address and in an order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sendonce_console.views.person import DeliveryView, Kept, PersonView
from sendonce_console.views.searching import Hit
from sendonce_rendering.showing import Shown, parts_of
from sendonce_store.console_people import AddressHit, RecipientLine
from sendonce_store.tracing import Step


@dataclass(frozen=True, slots=True)
class Recipient:
    """One delivery of a list. `recipient`: the sender's id of the person, else `line:12`; `message`: the far end's."""

    recipient: str
    line: int
    channel: str
    address: str | None
    state: str
    reason: str | None
    code: str | None
    message: str | None
    attempts: int
    updated: datetime | None
    next_attempt: datetime | None
    provider: str | None
    message_id: str | None


@dataclass(frozen=True, slots=True)
class RecipientList:
    """Deliveries in order. `next`: give it as `after`; null: that was all. A page may be empty and have a next."""

    items: Sequence[Recipient]
    next: str | None


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One attempt, or a late answer. `told` is the outcome in words."""

    seq: int
    at: datetime | None
    outcome: str
    told: str
    late: bool
    code: str | None
    message: str | None
    worker: str | None


@dataclass(frozen=True, slots=True)
class ContentRecord:
    """What went out, rendered again. `verified`: its digest is the one that was noted before the hand-off."""

    verified: bool
    verdict: str
    explanation: str
    digest: bytes | None
    parts: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """Everything that is known of one delivery. `title` and `sentence` answer at one look."""

    channel: str
    address: str
    line: int
    provider: str | None
    state: str
    reason: str | None
    code: str | None
    message: str | None
    message_id: str | None
    idempotency_key: str
    maybe_accepted: bool
    first_attempt: datetime | None
    last_attempt: datetime | None
    next_attempt: datetime | None
    finished: datetime | None
    title: str
    sentence: str
    notes: Sequence[str]
    attempts: Sequence[AttemptRecord]
    content: ContentRecord


@dataclass(frozen=True, slots=True)
class Unreached:
    """A channel of the campaign without a delivery to this person, and why."""

    channel: str
    why: str


@dataclass(frozen=True, slots=True)
class ConsentRecord:
    """What keeps messages from an address: in words, since when, and where it came from."""

    channel: str
    address: str
    words: str
    source: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class OtherCampaign:
    """A delivery to the same address in another campaign of the namespace."""

    campaign: str
    send_key: str
    line: int
    channel: str
    address: str
    state: str
    reason: str | None
    code: str | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """One person in one campaign. `title` and `sentence` answer "did they get it?"."""

    recipient: str
    line: int
    campaign: str
    addresses: Mapping[str, str]
    timezone: str | None
    locale: str | None
    title: str
    sentence: str
    deliveries: Sequence[DeliveryRecord]
    unreached: Sequence[Unreached]
    consent: Sequence[ConsentRecord]
    elsewhere: Sequence[OtherCampaign]


@dataclass(frozen=True, slots=True)
class FoundPerson:
    """A recipient of a campaign who may be meant."""

    recipient: str
    line: int
    namespace: str
    campaign: str
    send_key: str
    addresses: Mapping[str, str]
    state: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class FoundAddress:
    """An address that begins so, and in how many campaigns it was met."""

    channel: str
    address: str
    campaigns: int


@dataclass(frozen=True, slots=True)
class PeopleFound:
    """Recipients by id, whole address or message id; where there are none, addresses that begin so."""

    items: Sequence[FoundPerson]
    begins: Sequence[FoundAddress]


def called(ref: str | None, line: int) -> str:
    """What names a recipient."""
    return ref or f"line:{line}"


def recipient_of(one: RecipientLine) -> Recipient:
    """A line of the list."""
    return Recipient(
        recipient=called(one.ref, one.line),
        line=one.line,
        channel=one.channel,
        address=one.address,
        state=one.state,
        reason=one.reason,
        code=one.code,
        message=one.error,
        attempts=one.attempts,
        updated=one.updated,
        next_attempt=one.next_attempt_at,
        provider=one.provider,
        message_id=one.message_id,
    )


def person_of(campaign: str, view: PersonView, kept: Sequence[Kept], elsewhere: Sequence[AddressHit]) -> PersonRecord:
    """The person view."""
    person = view.trace.person
    return PersonRecord(
        recipient=called(person.ref, person.no),
        line=person.no,
        campaign=campaign,
        addresses={channel: pair[0] for channel, pair in person.addresses.items()},
        timezone=person.timezone,
        locale=person.locale,
        title=view.title,
        sentence=view.sentence,
        deliveries=[_delivery(one) for one in view.deliveries],
        unreached=[Unreached(channel, why) for channel, why in view.unreached],
        consent=[ConsentRecord(one.channel, one.address, one.words, one.source, one.since) for one in kept],
        elsewhere=[_elsewhere(one) for one in elsewhere],
    )


def _elsewhere(hit: AddressHit) -> OtherCampaign:
    at = hit.finished_at or hit.last_attempt_at
    return OtherCampaign(
        hit.name, hit.send_key, hit.line, hit.channel, hit.address, hit.state, hit.reason, hit.code, at
    )


def _delivery(view: DeliveryView) -> DeliveryRecord:
    d = view.traced.delivery
    return DeliveryRecord(
        channel=d.channel,
        address=d.address,
        line=d.line,
        provider=d.provider,
        state=d.state,
        reason=d.reason,
        code=d.code,
        message=d.error,
        message_id=d.message_id,
        idempotency_key=d.key,
        maybe_accepted=d.maybe_accepted,
        first_attempt=d.first_attempt_at,
        last_attempt=d.last_attempt_at,
        next_attempt=d.next_attempt_at,
        finished=d.finished_at,
        title=view.title,
        sentence=view.sentence,
        notes=view.notes,
        attempts=[_attempt(step) for step in view.traced.steps],
        content=_content(view.content, d.digest),
    )


def _attempt(step: Step) -> AttemptRecord:
    return AttemptRecord(step.seq, step.at, step.outcome, step.told, step.late, step.code, step.message, step.worker)


def _content(shown: Shown, digest: bytes | None) -> ContentRecord:
    parts = parts_of(shown.content) if shown.content else None
    return ContentRecord(shown.verdict.name == "VERIFIED", shown.verdict.value, shown.explanation, digest, parts)


def found_person(hit: Hit) -> FoundPerson:
    """A hit of a search."""
    return FoundPerson(
        called(hit.ref, hit.line),
        hit.line,
        hit.namespace,
        hit.name,
        hit.send_key,
        dict(hit.addresses),
        hit.state,
        hit.reason,
    )
