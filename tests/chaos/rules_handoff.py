"""Rules about hand-offs: the store's word against the far end's ledger.

In: the evidence of a run. Out: violations. Each rule is one function; its first line says what must hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tests.chaos.evidence import Evidence, Record, Violation, Who, channel_of, who_of
from tests.chaos.scenario import BATCHES_PER_WORKER, LEASE

from sendonce_cli.simulate.ledger import LedgerRow
from sendonce_worker.sending.plan import rows_ahead

# patience is the time-out plus this: a worker that stands still for longer than it after its clearance is late
_MARGIN = 2.0
_UNSENT = ("failed", "cancelled", "expired", "suppressed")
_REPEATABLE = {"unknown", "recovered"}
_MAY_BECOME = {
    None: {"pending", "cancelled"},
    "pending": {"sending", "failed", "uncertain", "suppressed", "expired", "cancelled", "sent"},
    "sending": {"sent", "pending", "failed", "uncertain"},
    "uncertain": {"sent", "failed", "pending"},
    "failed": {"pending", "sent"},
    "expired": {"pending"},
    "cancelled": {"pending"},
}


def accepted_once(evidence: Evidence) -> Iterator[Violation]:
    """A delivery is accepted at most once, as far as the promise goes."""
    for who in evidence.hand_offs:
        taken = evidence.accepted(who)
        for earlier, later in pairwise(taken):
            if not _excused(evidence, who, earlier, later):
                words = f"accepted {len(taken)} times: at {earlier.ts:.3f} and again at {later.ts:.3f}"
                yield Violation("accepted once", words, who)


def _excused(evidence: Evidence, who: Who, earlier: LedgerRow, later: LedgerRow) -> bool:
    """Whether the promise allows this repeat."""
    window = evidence.scenario.window_of(who[0])
    if _attempt_before(evidence, who, later, ordered=True):
        return True
    if window is None:
        return evidence.scenario.resend and _earlier_unknown(evidence, who)
    # a worker that stood still across the end of the window, with the bytes in its hands
    attempt = _attempt_before(evidence, who, later)
    frozen = attempt is not None and evidence.frozen_in(attempt["moved"], later.arrived) > _MARGIN
    return later.arrived - earlier.ts >= window and frozen


def _attempt_before(evidence: Evidence, who: Who, row: LedgerRow, *, ordered: bool = False) -> Record | None:
    """The last `sending` before a hand-off arrived; with `ordered`, any of them that a person had ordered."""
    moves = [m for m in evidence.moves_of.get(who, []) if m["after"] == "sending" and m["begun"] <= row.arrived]
    if ordered:
        return next((move for move in moves if move["ordered"]), None)
    return moves[-1] if moves else None


def _earlier_unknown(evidence: Evidence, who: Who) -> bool:
    delivery = evidence.by_who.get(who)
    if delivery is None:
        return False
    noted = evidence.attempts_of.get((delivery["batch_id"], delivery["no"]), [])
    return any(attempt["outcome"] in _REPEATABLE for attempt in noted)


def sent_was_accepted(evidence: Evidence) -> Iterator[Violation]:
    """`sent` means that the far end accepted it, unless a person said so."""
    for row in evidence.deliveries:
        if row["state"] == "sent" and row["reason"] != "resolved" and not evidence.accepted(who_of(row)):
            yield Violation("sent was accepted", "sent, and the far end's ledger has no acceptance", who_of(row))


def unsent_was_not_accepted(evidence: Evidence) -> Iterator[Violation]:
    """`failed`, `cancelled`, `expired` and `suppressed` were never accepted, unless a person said so."""
    for row in evidence.deliveries:
        if row["state"] in _UNSENT and row["reason"] != "resolved" and evidence.accepted(who_of(row)):
            words = f"{row['state']} ({row['reason']}), and the far end accepted it"
            yield Violation("unsent was not accepted", words, who_of(row))


def hand_offs_have_attempts(evidence: Evidence) -> Iterator[Violation]:
    """Whatever reached the far end was committed as `sending` before, one attempt for each hand-off."""
    for who, rows in evidence.hand_offs.items():
        delivery = evidence.by_who.get(who)
        if delivery is None:
            yield Violation("hand-offs have attempts", "handed off, and there is no such delivery", who)
        elif len(rows) > delivery["attempt_seq"]:
            words = f"{len(rows)} hand-offs from {delivery['attempt_seq']} attempts"
            yield Violation("hand-offs have attempts", words, who)
        elif _attempt_before(evidence, who, rows[0]) is None:
            yield Violation("hand-offs have attempts", "handed off before it was `sending`", who)


def attempts_are_counted(evidence: Evidence) -> Iterator[Violation]:
    """`attempt_seq` grows by one with each `sending`, and with nothing else."""
    for row in evidence.deliveries:
        seqs = [move["seq"] for move in evidence.moves_of.get(who_of(row), []) if move["after"] == "sending"]
        begun = [seq for place, seq in enumerate(seqs) if place == 0 or seq != seqs[place - 1]]
        if begun != list(range(1, row["attempt_seq"] + 1)):
            yield Violation("attempts are counted", f"attempt_seq {row['attempt_seq']}, attempts {begun}", who_of(row))
        noted = [a["seq"] for a in evidence.attempts_of.get((row["batch_id"], row["no"]), [])]
        if any(seq > row["attempt_seq"] for seq in noted):
            yield Violation("attempts are counted", f"attempts {noted} are noted of {row['attempt_seq']}", who_of(row))


def evidence_counts(evidence: Evidence) -> Iterator[Violation]:
    """Who has an acceptance noted, late or not, is `sent`, unless a person resolved it otherwise afterwards."""
    noted = {(a["batch_id"], a["no"]) for a in evidence.attempts if a["outcome"] == "accepted"}
    for row in evidence.deliveries:
        if (row["batch_id"], row["no"]) in noted and row["state"] != "sent" and row["reason"] != "resolved":
            yield Violation("evidence counts", f"an acceptance is noted, and it is {row['state']}", who_of(row))


def same_bytes(evidence: Evidence) -> Iterator[Violation]:
    """Every attempt of a delivery has its key and the same bytes."""
    for who, rows in evidence.hand_offs.items():
        delivery = evidence.by_who.get(who)
        payloads = {row.payload_sha256 for row in rows if row.payload_sha256 is not None}
        if len(payloads) > 1:
            yield Violation("same bytes", f"{len(payloads)} different contents", who)
        keys = {row.key for row in rows if row.key is not None}
        if delivery is not None and keys - {delivery["key_text"]}:
            yield Violation("same bytes", f"keys {keys}, not {delivery['key_text']}", who)
        if evidence.scenario.window_of(who[0]) is not None and any(row.key is None for row in rows):
            yield Violation("same bytes", "handed off without its key", who)


def moves_are_drawn(evidence: Evidence) -> Iterator[Violation]:
    """A delivery moves only as docs/state_machine.md draws it."""
    for row in evidence.moves:
        if row["before"] != row["after"] and row["after"] not in _MAY_BECOME.get(row["before"], set()):
            yield Violation("moves are drawn", f"{row['before']} became {row['after']}", who_of(row))


def uncertain_is_bounded(evidence: Evidence) -> Iterator[Violation]:
    """`uncertain` rows that nobody handed off are at most as many as the disturbances had in flight."""
    uncertain = [who_of(row) for row in evidence.deliveries if row["state"] == "uncertain"]
    never = [who for who in uncertain if not evidence.hand_offs.get(who)]
    hits = sum(mark.workers for mark in evidence.marks)
    bound = hits * max(_at_risk(evidence, channel) for channel in ("Email", "SMS"))
    if len(never) > bound:
        words = f"{len(never)} are uncertain and were never handed off; {bound} could be in flight in {evidence.marks}"
        yield Violation("uncertain is bounded", words, never[0])


def _at_risk(evidence: Evidence, channel: str) -> int:
    """How many rows one worker can have in `sending` that it has not handed off."""
    capacity = evidence.scenario.concurrency
    ahead = rows_ahead(capacity, evidence.scenario.window_of(channel), LEASE, paced=False)
    return capacity + BATCHES_PER_WORKER * ahead


def canary_goes_first(evidence: Evidence) -> Iterator[Violation]:
    """Nobody outside of the canary is handed off before it is promoted."""
    if evidence.scenario.canary == "none":
        return
    main = {batch["id"] for batch in evidence.batches if batch["stage"] == "main"}
    promoted = evidence.campaign["stage_at"] if evidence.campaign["rollout_stage"] == "promoted" else float("inf")
    for who, rows in evidence.hand_offs.items():
        delivery = evidence.by_who.get(who)
        if delivery is not None and delivery["batch_id"] in main and rows[0].arrived < promoted:
            words = f"handed off at {rows[0].arrived:.3f}, the canary was promoted at {promoted}"
            yield Violation("canary goes first", words, who)


def nobody_else(evidence: Evidence) -> Iterator[Violation]:
    """Every hand-off is on a channel of the campaign."""
    for row in evidence.ledger:
        if channel_of(row) not in {"Email", "SMS"}:
            yield Violation("nobody else", f"a hand-off to {row.protocol} {row.path}")


RULES = (
    accepted_once,
    sent_was_accepted,
    unsent_was_not_accepted,
    hand_offs_have_attempts,
    attempts_are_counted,
    evidence_counts,
    same_bytes,
    moves_are_drawn,
    uncertain_is_bounded,
    canary_goes_first,
    nobody_else,
)
