"""The report itself: a campaign's facts in, a Proof out. Pure.

A proof is of a campaign that has ended. It `holds` when every sum adds up and nobody is known to have been sent to
twice; what can't be known is said in words beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from sendonce_store.proof.facts import MOST_ACTIONS, ActionRow, CampaignRow, Facts, ReasonGroup, Rows, StateGroup
from sendonce_store.proof.words import HOW_COUNTED, Doubts, unknowns
from sendonce_store.spec import CampaignSpec, Message, canonical_json
from sendonce_store.standing import Counts

__all__ = ["Proof", "ProofError", "build"]

STATES = tuple(field.name for field in fields(Counts))


class ProofError(Exception):
    """There is nothing to prove yet; the message says why and what would do."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Which campaign, how it ended, and the hash of its content."""

    namespace: str
    name: str
    send_key: str
    category: str
    topic: str | None
    ended: str  # complete | failed
    reason: str
    message: str
    created_at: datetime
    start_time: datetime | None
    completion_time: datetime | None
    data_deleted_at: datetime | None
    content_hash: str
    applied_by: str | None


@dataclass(frozen=True, slots=True)
class Maker:
    """Who made the report, and when by the database's clock."""

    made_at: datetime
    store_id: str
    software: str


@dataclass(frozen=True, slots=True)
class People:
    """The list: rows read = total + duplicates + rejected."""

    rows_read: int
    total: int
    duplicates: int
    rejected: int
    unreachable: int


@dataclass(frozen=True, slots=True)
class Tally:
    """Deliveries by state, of one channel or of all; first and last hand-off, None where nobody was handed off."""

    channel: str
    total: int
    states: Mapping[str, int]
    first_hand_off: datetime | None
    last_hand_off: datetime | None


@dataclass(frozen=True, slots=True)
class Reason:
    """Deliveries that were not sent for the same reason; `message`: the far end's words for one, addresses masked."""

    channel: str
    state: str
    reason: str | None
    code: str | None
    count: int
    message: str | None


@dataclass(frozen=True, slots=True)
class Duplicates:
    """How many were sent to twice, how that was counted, and what could not be; None: it can't be counted any more."""

    count: int | None
    how: str
    repeated_under_one_key: int | None
    possible: int | None
    uncertain: int
    sent_by_decision: int | None


@dataclass(frozen=True, slots=True)
class Version:
    """One text that went out: a channel in a language, and the SHA-256 of its frozen template."""

    channel: str
    language: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Act:
    """An order that a person gave; `by` is as they said, None where that is not told."""

    at: datetime
    by: str | None
    type: str
    name: str
    done: bool
    matched: int
    changed: int
    message: str


@dataclass(frozen=True, slots=True)
class Sum:
    """Two numbers that must be the same."""

    what: str
    found: int
    expected: int

    @property
    def holds(self) -> bool:
        """Whether they are."""
        return self.found == self.expected


@dataclass(frozen=True, slots=True)
class Proof:
    """The whole report."""

    holds: bool
    campaign: Subject
    made: Maker
    people: People
    deliveries: Tally
    channels: Sequence[Tally]
    reasons: Sequence[Reason]
    duplicates: Duplicates
    content: Sequence[Version]
    acts: Sequence[Act]
    sums: Sequence[Sum]
    unknown: Sequence[str]


def build(facts: Facts, software: str, redact: Callable[[str], str]) -> Proof:
    """Build the proof. `software`: name and version of this program; `redact` masks addresses in the far end's words.

    Raises ProofError while the campaign has not ended.
    """
    campaign, rows = facts.campaign, facts.rows
    subject = _subject(campaign)
    channels = _channels(facts)
    everything = _all_channels(facts, channels)
    sums = list(_sums(campaign, channels, everything, rows))
    duplicates = _duplicates(rows, everything.states["uncertain"])
    reasons = [_reason(one, redact) for one in rows.reasons] if rows else []
    return Proof(
        holds=all(one.holds for one in sums) and not duplicates.count,
        campaign=subject,
        made=Maker(campaign.made_at, campaign.store_id, software),
        people=_people(campaign),
        deliveries=everything,
        channels=channels,
        reasons=reasons,
        duplicates=duplicates,
        content=list(_versions(campaign)),
        acts=[_act(one, redact) for one in facts.actions],
        sums=sums,
        unknown=list(unknowns(_doubts(facts, duplicates, _unlisted(reasons, everything) if rows else 0))),
    )


def _doubts(facts: Facts, found: Duplicates, unlisted: int) -> Doubts:
    return Doubts(
        facts.campaign.data_deleted_at,
        found.uncertain,
        found.possible or 0,
        found.sent_by_decision or 0,
        unlisted,
        len(facts.actions) == MOST_ACTIONS,
    )


def _subject(c: CampaignRow) -> Subject:
    if c.ended is None:
        raise ProofError(
            f"campaign {c.send_key} has not ended: a proof is of a finished campaign. Wait for its end, or cancel it"
        )
    return Subject(
        c.namespace, c.name, c.send_key, c.category, c.topic, c.ended, c.ended_reason or c.ended, c.ended_message or "",
        c.created_at, c.started_at, c.completed_at, c.data_deleted_at, c.content_hash, c.applied_by,
    )  # fmt: skip


def _people(c: CampaignRow) -> People:
    return People(c.total + c.duplicates + c.rejected, c.total, c.duplicates, c.rejected, c.unreachable)


def _channels(facts: Facts) -> list[Tally]:
    """As the counters have them; they go with the recipients' data."""
    if facts.rows is None:
        return []
    groups = facts.rows.states
    return [
        _tally(channel, counts, [one for one in groups if one.channel == channel])
        for channel, counts in sorted(facts.counters.items())
    ]


def _tally(channel: str, counts: Counts, groups: Sequence[StateGroup]) -> Tally:
    first = min((one.first for one in groups if one.first is not None), default=None)
    last = max((one.last for one in groups if one.last is not None), default=None)
    return Tally(channel, counts.total, {name: getattr(counts, name) for name in STATES}, first, last)


def _all_channels(facts: Facts, channels: Sequence[Tally]) -> Tally:
    if facts.rows is None:
        kept = facts.campaign.final_counts or {}
        return _tally("all", Counts(**{name: int(kept.get(name, 0)) for name in STATES}), [])
    added = Counts(**{name: sum(one.states[name] for one in channels) for name in STATES})
    return _tally("all", added, facts.rows.states)


def _sums(c: CampaignRow, channels: Sequence[Tally], everything: Tally, rows: Rows | None) -> Iterator[Sum]:
    unfinished = everything.states["pending"] + everything.states["sending"]
    yield Sum("deliveries without a final state", unfinished, 0)
    if rows is None:
        return
    yield Sum("people: rows of the list, as imported", rows.people, c.total)
    yield Sum("refused rows: kept, as imported", rows.refused, c.rejected)
    for one in channels:
        for state in STATES:
            found = sum(group.count for group in rows.states if (group.channel, group.state) == (one.channel, state))
            if found or one.states[state]:
                yield Sum(f"{one.channel}, {state}: rows, as counted", found, one.states[state])
    yield Sum("deliveries: all rows, all channels", sum(group.count for group in rows.states), everything.total)


def _duplicates(rows: Rows | None, uncertain: int) -> Duplicates:
    if rows is None:
        return Duplicates(None, HOW_COUNTED, None, None, uncertain, None)
    decided = sum(one.count for one in rows.states if one.state == "sent" and one.reason == "resolved")
    found = rows.repeats
    return Duplicates(found.twice, HOW_COUNTED, found.twice_under_one_key, found.possible, uncertain, decided)


def _unlisted(reasons: Sequence[Reason], everything: Tally) -> int:
    final = ("failed", "uncertain", "suppressed", "expired", "cancelled")
    return sum(everything.states[name] for name in final) - sum(one.count for one in reasons)


def _reason(one: ReasonGroup, redact: Callable[[str], str]) -> Reason:
    message = None if one.message is None else redact(one.message)
    code = None if one.code is None else redact(one.code)
    return Reason(one.channel, one.state, one.reason, code, one.count, message)


def _act(one: ActionRow, redact: Callable[[str], str]) -> Act:
    kind = f"{one.type} as {one.resolve_as}" if one.resolve_as else one.type
    return Act(one.at, one.by, kind, one.name, one.done, one.matched, one.changed, redact(one.message or ""))


def _versions(c: CampaignRow) -> Iterator[Version]:
    """Each text of each channel: the template's own, and its variants in other languages."""
    for message in sorted(CampaignSpec.from_wire(dict(c.spec)).messages, key=lambda one: one.channel.value):
        channel, template = message.channel.value, _alone(message)
        yield Version(channel, message.template.locale or "", hashlib.sha256(template).hexdigest())
        for variant in message.template.variants:
            yield Version(channel, variant.locale, hashlib.sha256(canonical_json(variant)).hexdigest())


def _alone(message: Message) -> bytes:
    return canonical_json(message.template.model_copy(update={"variants": ()}))
