"""The answer to "I didn't get it": a campaign and a person in, what became of each delivery to them out.

`timeline` puts together what the ledger keeps: attempts that had trouble are noted one by one, and a plain success is
told by the delivery's own row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sendonce_cli.addressing import normalised
from sendonce_cli.contents import Shown, Verdict, parts_of, shown_again
from sendonce_store import ledger, people
from sendonce_store.campaigns import StoredCampaign, read
from sendonce_store.connection import Connection
from sendonce_store.links import frozen_links
from sendonce_store.people import Attempt, Delivery, Person, Refusal
from sendonce_store.standing import Overview

__all__ = ["Step", "Trace", "TracedDelivery", "find_people", "timeline", "trace", "trace_data"]

REPORTED = {
    "delivered": "reported as delivered",
    "bounced": "reported as bounced for good",
    "bounced_transient": "reported as not delivered; the address may be fine",
    "failed": "reported as failed after it was accepted",
    "dropped": "reported as dropped after it was accepted",
    "complained": "the person reported it as spam",
    "unsubscribed": "the person unsubscribed",
    "blocked": "the person blocked the sender",
}
_OUTCOMES = {
    "accepted": "accepted",
    "permanent": "refused for good",
    "temporary": "refused for now",
    "rate_limited": "throttled",
    "account": "refused: the account, its credentials or its sender",
    "unknown": "no answer that says whether it was taken",
    "recovered": "the worker was gone before it had recorded an answer",
    "restored": "an attempt that the store would have forgotten, if there was one",
    **REPORTED,
}


_DELIVERED = 2


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a delivery's history."""

    seq: int
    at: datetime | None
    worker: str | None
    outcome: str
    told: str
    late: bool
    code: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class TracedDelivery:
    """One delivery with everything that is known of it."""

    delivery: Delivery
    steps: Sequence[Step]
    refusals: Sequence[Refusal]
    content: Shown


@dataclass(frozen=True, slots=True)
class Trace:
    """One person in one campaign. `unaddressed`: channels of the campaign for which there is no address."""

    person: Person
    deliveries: Sequence[TracedDelivery]
    unaddressed: Sequence[str]


async def find_people(conn: Connection, campaign: Overview, channels: Sequence[str], who: str) -> list[Person]:
    """By reference, else by address (however it is written), else by line (`line:12`, or a bare number)."""
    if who.startswith("line:") and who[5:].isdecimal():
        return await people.people_by_line(conn, campaign.id, int(who[5:]))
    return (
        await people.people_by_ref(conn, campaign.id, who)
        or await people.people_by_delivery(conn, campaign.id, normalised(who, channels))
        or await people.people_by_address(conn, campaign.id, who)
        or (await people.people_by_line(conn, campaign.id, int(who)) if who.isdecimal() and len(who) < 18 else [])  # noqa: PLR2004 - a bigint
    )


async def trace(conn: Connection, campaign: Overview, stored: StoredCampaign, person: Person) -> Trace:
    """Read everything about a person."""
    links = await frozen_links(conn, campaign.id)
    deliveries = [
        TracedDelivery(
            delivery=one,
            steps=list(timeline(one, await people.attempts_of(conn, one))),
            refusals=await people.refusals_of(conn, campaign, one.channel, one.address),
            content=shown_again(stored.spec, person, one, links),
        )
        for one in await people.deliveries_of(conn, campaign.id, person.no)
    ]
    channels = [message.channel.value for message in stored.spec.messages]
    return Trace(person, deliveries, [channel for channel in channels if channel not in person.addresses])


def timeline(delivery: Delivery, attempts: Sequence[Attempt]) -> Iterator[Step]:
    """The attempts in order, with the success that only the delivery tells of, and one that is under way."""
    steps = [
        Step(
            one.seq,
            one.at,
            one.worker,
            one.outcome,
            _OUTCOMES.get(one.outcome, one.outcome),
            one.late,
            one.code,
            one.message,
        )
        for one in sorted(attempts, key=lambda one: (one.seq, one.at))
    ]
    reports = [step for step in steps if step.outcome in REPORTED]
    yield from (step for step in steps if step.outcome not in REPORTED)
    yield from _end(delivery, steps)
    yield from reports
    if delivery.receipt == _DELIVERED:
        yield _delivered(delivery)


def _delivered(delivery: Delivery) -> Step:
    told = REPORTED["delivered"]
    seq, at = delivery.attempt_seq, delivery.receipt_at
    return Step(seq, at, delivery.provider, "delivered", told, late=False, code=None, message=None)


def _end(delivery: Delivery, steps: Sequence[Step]) -> Iterator[Step]:
    """The attempt that no step tells of: it was accepted without trouble, or is under way."""
    seq, noted = delivery.attempt_seq, [step.outcome for step in steps if step.seq == delivery.attempt_seq]
    last = (delivery.last_attempt_at, delivery.worker)
    if delivery.state == "sent" and seq and "accepted" not in [step.outcome for step in steps]:
        said = delivery.error or (f"message id {delivery.message_id}" if delivery.message_id else None)
        yield Step(
            seq,
            delivery.finished_at or last[0],
            last[1],
            "accepted",
            "accepted",
            late=False,
            code=delivery.code,
            message=said,
        )
    elif delivery.state == "sending" and not noted:
        yield Step(seq, *last, "sending", "on its way now", late=False, code=None, message=None)


def trace_data(found: Trace) -> dict[str, Any]:
    """For scripts."""
    person = found.person
    return {
        "line": person.no,
        "ref": person.ref,
        "addresses": {channel: pair[0] for channel, pair in person.addresses.items()},
        "timezone": person.timezone,
        "locale": person.locale,
        "noAddressFor": list(found.unaddressed),
        "deliveries": [_delivery_data(one) for one in found.deliveries],
    }


def _delivery_data(one: TracedDelivery) -> dict[str, Any]:
    d, content = one.delivery, one.content
    return {
        "channel": d.channel,
        "provider": d.provider,
        "address": d.address,
        "state": d.state,
        "reason": d.reason,
        "code": d.code,
        "error": d.error,
        "messageId": d.message_id,
        "idempotencyKey": d.key,
        "attempts": d.attempt_seq,
        "maybeAccepted": d.maybe_accepted,
        "firstAttemptAt": d.first_attempt_at,
        "lastAttemptAt": d.last_attempt_at,
        "nextAttemptAt": d.next_attempt_at,
        "finishedAt": d.finished_at,
        "history": list(one.steps),
        "refusals": list(one.refusals),
        "content": {
            "verified": content.verdict is Verdict.VERIFIED,
            "verdict": content.verdict,
            "explanation": content.explanation,
            "digest": d.digest,
            "parts": parts_of(content.content) if content.content else None,
        },
    }


async def frozen(conn: Connection, campaign: Overview) -> StoredCampaign:
    """The campaign with its frozen templates."""
    stored = await read(conn, campaign.namespace, campaign.send_key)
    if stored is None:
        message = f"campaign {campaign.send_key} is gone"
        raise RuntimeError(message)
    return stored


async def refused_rows(conn: Connection, campaign: Overview, who: str) -> list[ledger.Refused]:
    """Refused rows that the person may be."""
    bare = who.removeprefix("line:")
    line = int(bare) if bare.isdecimal() and len(bare) < 18 else None  # noqa: PLR2004 - a bigint
    return await people.rejects_about(conn, campaign.id, who, line)
