"""A small run that went well, made by hand, and one way to spoil it for each rule of the judge.

In: nothing. Out: `sound()`, which the judge must find nothing in, and `DOCTORED`: how to falsify the store's rows, the
ledger or the record so that exactly the named rule must speak. A judge that can't be made to speak proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.chaos.audience import People, Person
from tests.chaos.evidence import Evidence, Record
from tests.chaos.rules_books import STATES
from tests.chaos.scenario import Audience, Scenario
from tests.chaos.story import Mark, Wish

from sendonce_cli.simulate.ledger import LedgerRow
from sendonce_cli.simulate.outcomes import Cause, Outcome

Spoil = Callable[[Evidence], Evidence]
_BEGIN = 1_800_000_000.0
_SENT, _OTHER, _FAILED, _HELD, _AWAY, _UNSENT = (f"p{no:04d}@example.com" for no in range(6))
_FALLBACK = "+12025550002"


def sound() -> Evidence:
    """Six people by mail, one of whom failed and got an SMS; nobody was handed off twice."""
    mails = (_SENT, _OTHER, _FAILED, _HELD, _AWAY, _UNSENT)
    people = [Person(line, mail, _FALLBACK if mail == _FAILED else "") for line, mail in enumerate(mails, 2)]
    deliveries = [
        _delivery(1, _SENT, "sent"),
        _delivery(2, _OTHER, "sent"),
        _delivery(3, _FAILED, "failed", "permanent"),
        _delivery(4, _HELD, "uncertain", "recovered"),
        _delivery(5, _AWAY, "suppressed", "opted_out", seq=0),
        _delivery(6, _UNSENT, "cancelled", "cancelled", seq=0),
        _delivery(1, _FALLBACK, "sent", channel="SMS", batch=3),
    ]
    return Evidence(
        scenario=_scenario(),
        people=People("", 9, tuple(people), 1, frozenset({8}), frozenset({9})),
        ledger=(
            _line(_SENT, 1.0),
            _line(_OTHER, 1.0),
            _line(_FAILED, 1.0, Outcome.REFUSED),
            _line(_FALLBACK, 1.5, path="/sms"),
        ),
        campaign=_campaign(),
        batches=(_batch(1, "import", {}), _batch(2, "send", _counts(deliveries[:6])), _batch(3, "send", {"sent": 1})),
        deliveries=deliveries,
        recipients=[{"no": no, "addresses": {}} for no in (*range(2, 8), 9)],
        rejects=[{"line": 8}],
        attempts=[_attempt(2, 4, "recovered")],
        moves=_moves(deliveries),
        marks=[Mark("kill", _BEGIN, _BEGIN)],
        wishes=[Wish("opt_out", _BEGIN, _BEGIN + 0.1, addresses=frozenset({_AWAY}))],
    )


def _scenario() -> Scenario:
    return Scenario(
        seed=0, kind="keyed", audience=Audience(6, 1, 1, 1, 0), sms="after", workers=2, concurrency=8, canary="none",
        far_end={}, chances={}, max_attempts=4, events=(), afterwards=(),
    )  # fmt: skip


def _delivery(
    no: int, address: str, state: str, reason: str | None = None, seq: int = 1, channel: str = "Email", batch: int = 2
) -> dict[str, Any]:
    return {
        "channel": channel, "address": address, "batch_id": batch, "no": no, "state": state, "reason": reason,
        "attempt_seq": seq, "key_text": f"key of {address}", "tries": seq, "maybe_accepted": state == "uncertain",
        "evidence": False, "worker": "w0",
    }  # fmt: skip


def _counts(deliveries: list[dict[str, Any]]) -> dict[str, int]:
    return {state: sum(row["state"] == state for row in deliveries) for state in STATES}


def _batch(number: int, kind: str, counts: Mapping[str, int]) -> dict[str, Any]:
    fixed = {"id": number, "kind": kind, "stage": "main", "state": "done", "lease_token": None}
    return fixed | dict.fromkeys(STATES, 0) | dict(counts)


def _campaign() -> dict[str, Any]:
    return {
        "ended": "complete", "ended_reason": "SomeUndelivered", "ended_message": "", "import_state": "done",
        "import_message": None, "rollout_stage": "none", "stage_at": None,
        "late_at": None, "suspended": False, "halt_reason": None,
        "cancelled_at": None, "held": False, "total": 7, "duplicates": 1, "rejected": 1, "unreachable": 1,
    }  # fmt: skip


def _attempt(batch: int, no: int, outcome: str) -> dict[str, Any]:
    at = datetime.fromtimestamp(_BEGIN + 3, UTC)
    return {
        "batch_id": batch, "no": no, "seq": 1, "outcome": outcome, "late": False, "at": at, "code": None,
        "message": None, "worker": "w0",
    }  # fmt: skip


def _move(row: Record, before: str | None, after: str, seq: int, at: float) -> dict[str, Any]:
    return {
        "channel": row["channel"], "address": row["address"], "before": before, "after": after, "seq": seq,
        "reason": None, "maybe_accepted": False, "ordered": False, "moved": _BEGIN + at, "begun": _BEGIN + at,
        "writer": "w0",
    }  # fmt: skip


def _moves(deliveries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    moves = []
    for row in deliveries:
        moves.append(_move(row, None, "pending", 0, 0.0))
        if row["attempt_seq"]:
            moves.append(_move(row, "pending", "sending", 1, 0.9))
        moves.append(_move(row, "sending" if row["attempt_seq"] else "pending", row["state"], row["attempt_seq"], 1.1))
    return moves


def _line(
    to: str, at: float, outcome: Outcome = Outcome.ACCEPTED, path: str = "/email", key: str | None = None
) -> LedgerRow:
    return LedgerRow(
        ts=_BEGIN + at, arrived=_BEGIN + at, protocol="http", path=path, key=key or f"key of {to}", to=to,
        outcome=outcome, cause=Cause.NORMAL, answer_lost=False, status=200, payload_sha256=f"content for {to}",
        attempt=1, message_id=None,
    )  # fmt: skip


# --- how to spoil it --------------------------------------------------------------------------------------------------


def _ledger(*more: LedgerRow) -> Spoil:
    return lambda good: replace(good, ledger=(*good.ledger, *more))


def _without(address: str) -> Spoil:
    return lambda good: replace(good, ledger=tuple(row for row in good.ledger if row.to != address))


def _edited(table: str, chosen: Callable[[Record], bool], **changes: Any) -> Spoil:
    def spoil(good: Evidence) -> Evidence:
        spoilt: dict[str, Any] = {table: [{**row, **changes} if chosen(row) else row for row in getattr(good, table)]}
        return replace(good, **spoilt)

    return spoil


def _delivery_of(address: str, **changes: Any) -> Spoil:
    return _edited("deliveries", lambda row: row["address"] == address, **changes)


def _campaign_with(**changes: Any) -> Spoil:
    return lambda good: replace(good, campaign={**good.campaign, **changes})


def _dropped(table: str, chosen: Callable[[Record], bool]) -> Spoil:
    def spoil(good: Evidence) -> Evidence:
        spoilt: dict[str, Any] = {table: [row for row in getattr(good, table) if not chosen(row)]}
        return replace(good, **spoilt)

    return spoil


def _both(*spoils: Spoil) -> Spoil:
    def spoil(good: Evidence) -> Evidence:
        for one in spoils:
            good = one(good)
        return good

    return spoil


def _as(**changes: Any) -> Spoil:
    return lambda good: replace(good, scenario=replace(good.scenario, **changes))


def _wished(*wishes: Wish) -> Spoil:
    return lambda good: replace(good, wishes=wishes)


def _moved_on(address: str, before: str, after: str, seq: int, at: float) -> Spoil:
    def spoil(good: Evidence) -> Evidence:
        row = next(row for row in good.deliveries if row["address"] == address)
        return replace(good, moves=[*good.moves, _move(row, before, after, seq, at)])

    return spoil


def _again(address: str, at: float) -> Spoil:
    """One more attempt that was committed and accepted."""
    return _both(_moved_on(address, "pending", "sending", 2, at - 0.1), _ledger(_line(address, at)),
                 _delivery_of(address, attempt_seq=2))  # fmt: skip


def _twice(good: Evidence) -> Evidence:
    return replace(good, deliveries=[*good.deliveries, good.deliveries[0]])


def _forgotten_marks(good: Evidence) -> Evidence:
    return replace(good, marks=[])


def _is(address: str) -> Callable[[Record], bool]:
    return lambda row: row.get("address") == address


_STOP = Wish("suspend", _BEGIN, _BEGIN + 0.5, _BEGIN + 30)
_CANCEL = Wish("cancel", _BEGIN, _BEGIN + 0.5)

# rule, what was done to the evidence, how
DOCTORED: tuple[tuple[str, str, Spoil], ...] = (
    ("accepted once", "accepted again within the key window", _again(_SENT, 2.0)),
    ("accepted once", "again after the window, and nobody stood still", _both(_as(kind="window"), _again(_SENT, 9.0))),
    ("accepted once", "again without keys, under Hold", _both(_as(kind="hold"), _again(_SENT, 2.0))),
    ("accepted once", "again under Resend, nothing was unknown", _both(_as(kind="resend"), _again(_SENT, 2.0))),
    ("sent was accepted", "an acceptance is gone from the ledger", _without(_SENT)),
    ("unsent was not accepted", "a failed one was accepted", _ledger(_line(_FAILED, 1.0))),
    ("unsent was not accepted", "a cancelled one was accepted", _ledger(_line(_UNSENT, 1.0))),
    ("hand-offs have attempts", "handed off without `sending`", _ledger(_line(_AWAY, 1.0))),
    ("hand-offs have attempts", "handed off before `sending`", _both(_without(_SENT), _ledger(_line(_SENT, 0.5)))),
    ("hand-offs have attempts", "handed off to a stranger", _ledger(_line("stranger@example.com", 1.0))),
    ("attempts are counted", "attempt_seq jumped", _delivery_of(_SENT, attempt_seq=3)),
    ("attempts are counted", "an attempt of the future is noted", _edited("attempts", lambda _: True, seq=7)),
    ("evidence counts", "a late acceptance was ignored", _edited("attempts", lambda _: True, outcome="accepted")),
    ("same bytes", "a retry with other content", _ledger(replace(_line(_SENT, 1.2), payload_sha256="other"))),
    ("same bytes", "another key", _ledger(_line(_SENT, 1.2, key="another"))),
    ("same bytes", "no key", _ledger(replace(_line(_SENT, 1.2), key=None))),
    ("moves are drawn", "sent became pending", _moved_on(_SENT, "sent", "pending", 1, 2.0)),
    ("uncertain is bounded", "nothing went wrong", _forgotten_marks),
    ("canary goes first", "the rest was sent before", _as(canary="manual")),
    ("nobody else", "another path", _ledger(_line(_SENT, 1.0, path="/elsewhere"))),
    ("campaign ended", "it did not", _campaign_with(ended=None)),
    ("campaign ended", "it took too long", lambda good: replace(good, hung=True)),
    ("campaign ended", "a lease is left", _edited("batches", lambda row: row["id"] == 1, lease_token="token")),
    ("campaign ended", "a row is open", _delivery_of(_SENT, state="sending")),
    ("done is done", "a row is open in it", _delivery_of(_SENT, state="pending")),
    ("counters are true", "a counter is off", _edited("batches", lambda row: row["id"] == 2, sent=3)),
    ("counters are true", "a batch is gone", _dropped("batches", lambda row: row["id"] == 3)),
    ("lines add up", "a duplicate was counted twice", _campaign_with(duplicates=2)),
    ("lines add up", "a refused line is not listed", lambda good: replace(good, rejects=[])),
    ("lines add up", "somebody unreachable was counted as reachable", _campaign_with(unreachable=0)),
    ("lines add up", "the import failed", _campaign_with(import_state="failed")),
    ("everyone once", "somebody has no delivery", _dropped("deliveries", _is(_OTHER))),
    ("everyone once", "somebody has two", _twice),
    ("everyone once", "somebody is not there", lambda good: replace(good, recipients=good.recipients[1:])),
    ("fallbacks follow", "no SMS after a failure", _dropped("deliveries", _is(_FALLBACK))),
    (
        "fallbacks follow",
        "an SMS though the mail was sent",
        _both(_delivery_of(_FAILED, state="sent"), _dropped("moves", _is(_FAILED))),
    ),
    ("verdict is true", "AllSent, and not all are", _campaign_with(ended_reason="AllSent")),
    ("verdict is true", "Cancelled by nobody", _campaign_with(ended_reason="Cancelled")),
    ("no worker crashed", "one did", lambda good: replace(good, crashes=("worker w0 ended with 1",))),
    ("suspended stands still", "`sending` was committed", _wished(_STOP)),
    ("suspended stands still", "a hand-off came late", _both(_ledger(_line(_SENT, 20.0)), _wished(_STOP))),
    ("deadline is kept", "`sending` was committed", _campaign_with(late_at=_BEGIN + 0.5)),
    ("cancelled stands still", "`sending` was committed", _wished(_CANCEL)),
    (
        "opted out is left alone",
        "`sending` was committed",
        _wished(replace(_CANCEL, what="opt_out", addresses=frozenset({_SENT}))),
    ),
)
