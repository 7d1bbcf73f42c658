"""The proof: the store's deliveries against the far end's ledger. Both in, what holds and what does not out; no I/O.

The ledger is the truth about who got what: the far end wrote a line before it answered, and nobody else writes there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sendonce_cli.simulate.ledger import Ledger
from sendonce_store.ledger import DeliveryLine
from sendonce_store.standing import Overview

PROTOCOLS: Mapping[str, str] = {"Email": "smtp", "SMS": "http"}
NOT_SENT = frozenset({"failed", "suppressed", "expired", "cancelled"})


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known about the list beforehand."""

    lines: int
    people: int
    duplicates: int
    broken: int


@dataclass(frozen=True, slots=True)
class Proof:
    """What was counted. `by_acceptances`: (channel, how often accepted) → deliveries."""

    deliveries: int
    by_acceptances: Mapping[tuple[str, int], int]
    by_state: Mapping[tuple[str, str], int]
    by_reason: Mapping[tuple[str, str, str], int]
    duplicated: int
    lost: int
    contradicted: int
    strangers: int
    held_accepted: int
    held_unsent: int
    sums: Sequence[tuple[str, int, int]]

    @property
    def holds(self) -> bool:
        """Whether nobody was lost, nobody got it twice, and all sums add up."""
        wrong = self.duplicated + self.lost + self.contradicted + self.strangers
        return wrong == 0 and all(found == wanted for _, found, wanted in self.sums)


def prove(deliveries: Sequence[DeliveryLine], ledger: Ledger, seen: Overview, expected: Expected) -> Proof:
    """Hold every delivery against the ledger.

    lost          not final; or `sent`, but the far end never accepted it
    duplicated    accepted more than once
    contradicted  `failed`, `suppressed`, … and yet accepted
    strangers     accepted, and nobody's delivery
    """
    accepted = _acceptances(ledger)
    times = {id(one): accepted.get((one.channel, one.address or ""), 0) for one in deliveries}
    known = {(one.channel, one.address or "") for one in deliveries}
    return Proof(
        deliveries=len(deliveries),
        by_acceptances=Counter((one.channel, times[id(one)]) for one in deliveries),
        by_state=Counter((one.channel, one.state) for one in deliveries),
        by_reason=Counter((one.channel, one.state, one.reason) for one in deliveries if one.reason),
        duplicated=sum(count > 1 for count in times.values()),
        lost=sum(_is_lost(one, times[id(one)]) for one in deliveries),
        contradicted=sum(one.state in NOT_SENT and times[id(one)] > 0 for one in deliveries),
        strangers=sum(place not in known for place in accepted),
        held_accepted=sum(one.state == "uncertain" and times[id(one)] == 1 for one in deliveries),
        held_unsent=sum(one.state == "uncertain" and times[id(one)] == 0 for one in deliveries),
        sums=_sums(deliveries, seen, expected),
    )


def _acceptances(ledger: Ledger) -> Counter[tuple[str, str]]:
    channels = {protocol: channel for channel, protocol in PROTOCOLS.items()}
    counted: Counter[tuple[str, str]] = Counter()
    for (to, protocol, _), count in ledger.accepted().items():
        counted[channels[protocol], to] += count
    return counted


def _is_lost(one: DeliveryLine, times: int) -> bool:
    return one.state in {"pending", "sending"} or (one.state == "sent" and times == 0)


def _sums(deliveries: Sequence[DeliveryLine], seen: Overview, expected: Expected) -> list[tuple[str, int, int]]:
    """What must add up: a name, what was found, what it must be."""
    people = {one.line for one in deliveries}
    return [
        ("rows read: people + duplicates + refused", seen.total + seen.duplicates + seen.rejected, expected.lines),
        ("people in the list, each once", len(people), expected.people),
        ("rows of people that were there already", seen.duplicates, expected.duplicates),
        ("rows refused", seen.rejected, expected.broken),
        ("deliveries: one per person and channel", len(deliveries), expected.people * len(PROTOCOLS)),
        ("deliveries by state, as the campaign counts them", seen.counts.total, len(deliveries)),
        ("delivered to different (channel, address)", _distinct(deliveries), len(deliveries)),
    ]


def _distinct(deliveries: Iterable[DeliveryLine]) -> int:
    return len({(one.channel, one.address) for one in deliveries})
