"""The answer to "I didn't get it": a campaign and a person in, what became of each delivery to them out.

`timeline` puts together what the ledger keeps: attempts that had trouble are noted one by one, a plain success is told
by the delivery's own row, and so is that the provider reported it as delivered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sendonce_store import ledger, people
from sendonce_store.addresses import normalised
from sendonce_store.campaigns import StoredCampaign, read
from sendonce_store.connection import Connection
from sendonce_store.people import Attempt, Delivery, Person, Refusal
from sendonce_store.standing import Overview

__all__ = ["Step", "Trace", "TracedDelivery", "find_people", "frozen", "refused_rows", "timeline", "trace"]

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
    deliveries = [
        TracedDelivery(
            delivery=one,
            steps=list(timeline(one, await people.attempts_of(conn, one))),
            refusals=await people.refusals_of(conn, campaign, one.channel, one.address),
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
