"""What became of one person: found by reference, address or line; deliveries, attempts and refusals out.

The read side of the ledger for the question "I didn't get it". Nothing here writes or locks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sendonce_store.connection import Connection
from sendonce_store.ledger import Refused, read_all
from sendonce_store.standing import Overview


@dataclass(frozen=True, slots=True)
class Person:
    """One recipient. `addresses`: channel → [as written, normalised]."""

    no: int
    ref: str | None
    addresses: Mapping[str, Sequence[str]]
    timezone: str | None
    locale: str | None
    variables: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Everything that is known of one delivery. `line` is that of the recipient it was made for."""

    batch_id: int
    no: int
    line: int
    channel: str
    address: str
    key: str
    state: str
    reason: str | None
    code: str | None
    error: str | None
    message_id: str | None
    attempt_seq: int
    tries: int
    maybe_accepted: bool
    evidence: bool
    resend_ordered: bool
    worker: str | None
    digest: bytes | None
    first_attempt_at: datetime | None
    last_attempt_at: datetime | None
    next_attempt_at: datetime | None
    finished_at: datetime | None
    receipt: int  # what the provider said later: 1 not delivered, 2 delivered, 3 bounced for good
    receipt_at: datetime | None
    provider: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt that did not simply end as sent, or a late answer. `late`: it came after the lease was lost."""

    seq: int
    at: datetime
    worker: str
    outcome: str
    late: bool
    code: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an address is not written to: `kind` is suppressed (with a reason) or opted out (of category and topic)."""

    kind: str
    reason: str | None
    category: str | None
    topic: str | None
    source: str | None
    created_at: datetime


async def rejects_about(conn: Connection, campaign_id: int, text: str, line: int | None) -> list[Refused]:
    """Refused rows that a person may be: by line, or by what is kept of the row; at most 5."""
    rows = await read_all(conn, "rejects_about", {"campaign": campaign_id, "text": text, "line": line})
    return [Refused(**row) for row in rows]


async def people_by_ref(conn: Connection, campaign_id: int, ref: str) -> list[Person]:
    """Recipients with this reference of the sender's."""
    return await _people(conn, "recipients_by_ref", {"campaign": campaign_id, "text": ref})


async def people_by_line(conn: Connection, campaign_id: int, line: int) -> list[Person]:
    """The recipient of a line of the source."""
    return await _people(conn, "recipients_by_line", {"campaign": campaign_id, "line": line})


async def people_by_delivery(conn: Connection, campaign_id: int, addresses: Mapping[str, str]) -> list[Person]:
    """Recipients of the deliveries to these normalised addresses, given by channel."""
    columns = {"channels": list(addresses), "addresses": list(addresses.values())}
    return await _people(conn, "recipients_by_delivery", columns | {"campaign": campaign_id})


async def people_by_address(conn: Connection, campaign_id: int, address: str) -> list[Person]:
    """Recipients with an address that is written so; reads all recipients."""
    return await _people(conn, "recipients_by_address", {"campaign": campaign_id, "text": address})


async def _people(conn: Connection, query: str, parameters: Mapping[str, Any]) -> list[Person]:
    return [Person(**row) for row in await read_all(conn, query, parameters)]


async def deliveries_of(conn: Connection, campaign_id: int, line: int) -> list[Delivery]:
    """The deliveries to a recipient's addresses, in the order of the campaign's channels."""
    rows = await read_all(conn, "deliveries_of_recipient", {"campaign": campaign_id, "line": line})
    return [Delivery(**row) for row in rows]


async def attempts_of(conn: Connection, delivery: Delivery) -> list[Attempt]:
    """What is noted of a delivery's attempts, in order; a success without trouble is told by the delivery alone."""
    rows = await read_all(conn, "attempts_of_delivery", {"batch": delivery.batch_id, "no": delivery.no})
    return [Attempt(**row) for row in rows]


async def refusals_of(conn: Connection, campaign: Overview, channel: str, address: str) -> list[Refusal]:
    """Suppressions and opt-outs that keep this campaign from the (normalised) address."""
    asked = {
        "namespace": campaign.namespace,
        "channel": channel,
        "address": address,
        "category": campaign.category,
        "topic": campaign.topic,
    }
    return [Refusal(**row) for row in await read_all(conn, "refusals_of_address", asked)]
