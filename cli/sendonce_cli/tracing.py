"""What `sendonce show` tells of one person: the store's trace in, with the contents; data for scripts out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sendonce_rendering.showing import Shown, Verdict, parts_of
from sendonce_store.campaigns import StoredCampaign
from sendonce_store.links import Links
from sendonce_store.tracing import Trace, TracedDelivery
from sendonce_worker.previewing.again import shown_again

__all__ = ["Told", "tell", "trace_data"]


@dataclass(frozen=True, slots=True)
class Told:
    """One person in one campaign, with the content of each delivery, in the same order."""

    trace: Trace
    contents: Sequence[Shown]


def tell(stored: StoredCampaign, found: Trace, links: Links | None) -> Told:
    """Render again what went out to a person. `links`: what the campaign's are made with."""
    return Told(found, [shown_again(stored.spec, found.person, one.delivery, links) for one in found.deliveries])


def trace_data(told: Told) -> dict[str, Any]:
    """For scripts."""
    found, person = told.trace, told.trace.person
    return {
        "line": person.no,
        "ref": person.ref,
        "addresses": {channel: pair[0] for channel, pair in person.addresses.items()},
        "timezone": person.timezone,
        "locale": person.locale,
        "noAddressFor": list(found.unaddressed),
        "deliveries": [_delivery_data(*pair) for pair in zip(found.deliveries, told.contents, strict=True)],
    }


def _delivery_data(one: TracedDelivery, content: Shown) -> dict[str, Any]:
    d = one.delivery
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
