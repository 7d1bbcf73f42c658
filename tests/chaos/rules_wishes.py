"""Rules about what people ordered: suspend, cancel, opt out, a deadline.

In: the evidence of a run. Out: violations. A transaction that began after an order was committed must have seen it:
that rule is exact, both times are the database's machine's. A hand-off in the ledger may come later than its commit
by as much as a lease lasts, and by however long a worker stood still.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.chaos.evidence import Evidence, Violation, who_of
from tests.chaos.scenario import LEASE, TIMEOUT
from tests.chaos.story import Wish

_FOREVER = float("inf")
# the far end counts with a clock of its own that runs evenly
_CLOCK = 0.25


def suspended_stands_still(evidence: Evidence) -> Iterator[Violation]:
    """While the campaign is suspended nothing new is handed off."""
    for wish in evidence.wishes:
        if wish.what == "suspend":
            yield from _still("suspended stands still", evidence, wish)


def cancelled_stands_still(evidence: Evidence) -> Iterator[Violation]:
    """After a cancel nothing new is handed off, until somebody orders a retry of what was cancelled."""
    for wish in evidence.wishes:
        if wish.what == "cancel":
            yield from _still("cancelled stands still", evidence, wish)


def opted_out_is_left_alone(evidence: Evidence) -> Iterator[Violation]:
    """After an opt-out nothing new is handed off to that person."""
    for wish in evidence.wishes:
        if wish.what == "opt_out":
            yield from _still("opted out is left alone", evidence, wish)


def deadline_is_kept(evidence: Evidence) -> Iterator[Violation]:
    """From the deadline on nothing new is handed off; one that was set late counts from when it was committed."""
    late = evidence.campaign["late_at"]
    if late is not None:
        known = max([late, *(wish.done for wish in evidence.wishes if wish.what == "deadline")])
        yield from _still("deadline is kept", evidence, Wish("deadline", late, known))


def _still(rule: str, evidence: Evidence, wish: Wish) -> Iterator[Violation]:
    until = _FOREVER if wish.undone is None else wish.undone
    for move in evidence.moves:
        mine = not wish.addresses or move["address"] in wish.addresses
        began = move["after"] == "sending" and move["before"] == "pending"
        if mine and began and wish.done < move["begun"] < until:
            words = f"`sending` in a transaction of {move['begun']:.3f}; ordered before {wish.done:.3f}"
            yield Violation(rule, words, who_of(move))
    latest = wish.done + LEASE + TIMEOUT + _CLOCK
    for who, rows in evidence.hand_offs.items():
        if wish.addresses and who[1] not in wish.addresses:
            continue
        for row in rows:
            late = latest + evidence.frozen_in(wish.done, row.arrived)
            if late < row.arrived < until:
                yield Violation(rule, f"handed off at {row.arrived:.3f}; ordered before {wish.done:.3f}", who)


RULES = (suspended_stands_still, cancelled_stands_still, opted_out_is_left_alone, deadline_is_kept)
