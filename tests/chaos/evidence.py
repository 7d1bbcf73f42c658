"""Everything that is known of a run when it is over: the far end's ledger, the store's rows, the harness's own record.

In: a database and a ledger. Out: one frozen `Evidence`, with the look-ups that the rules share. The rules read nothing
else, so that a doctored `Evidence` tests them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, LiteralString

from tests.chaos.audience import People
from tests.chaos.scenario import Scenario
from tests.chaos.story import Mark, Wish

from sendonce_cli.simulate.ledger import LedgerRow
from sendonce_cli.simulate.outcomes import Outcome
from sendonce_store.connection import Connection

Record = Mapping[str, Any]
# channel and normalised address: what a delivery is to both sides
Who = tuple[str, str]
PATHS = {"Email": "/email", "SMS": "/sms"}
_CHANNELS = {path: channel for channel, path in PATHS.items()}

TABLES: dict[str, LiteralString] = {
    "campaign": "SELECT *, extract(epoch FROM rollout_since)::float8 AS stage_at, "
    "extract(epoch FROM deadline)::float8 AS late_at FROM sendonce.campaigns",
    # not claimable_at: a batch that never became due has `infinity` there, which is no moment to Python
    "batches": "SELECT id, kind, stage, state, lease_token, pending, sending, sent, failed, uncertain, suppressed, "
    "expired, cancelled FROM sendonce.batches ORDER BY id",
    "deliveries": "SELECT *, key::text AS key_text FROM sendonce.deliveries ORDER BY channel, address",
    "recipients": "SELECT no, addresses FROM sendonce.recipients ORDER BY no",
    "rejects": "SELECT * FROM sendonce.import_rejects ORDER BY line",
    "attempts": "SELECT * FROM sendonce.attempts ORDER BY id",
    "moves": "SELECT *, extract(epoch FROM at)::float8 AS moved, extract(epoch FROM began)::float8 AS begun "
    "FROM chaos.moves ORDER BY id",
}


@dataclass(frozen=True)
class Evidence:
    """What the judge sees. `crashes`: workers that ended as none should; `hung`: the campaign did not end in time."""

    scenario: Scenario
    people: People
    ledger: Sequence[LedgerRow]
    campaign: Record
    batches: Sequence[Record]
    deliveries: Sequence[Record]
    recipients: Sequence[Record]
    rejects: Sequence[Record]
    attempts: Sequence[Record]
    moves: Sequence[Record]
    marks: Sequence[Mark]
    wishes: Sequence[Wish]
    crashes: Sequence[str] = ()
    hung: bool = False

    @cached_property
    def hand_offs(self) -> Mapping[Who, list[LedgerRow]]:
        """The ledger's rows by delivery, in order."""
        found: dict[Who, list[LedgerRow]] = defaultdict(list)
        for row in self.ledger:
            found[channel_of(row), row.to.lower()].append(row)
        return found

    @cached_property
    def by_who(self) -> Mapping[Who, Record]:
        """The deliveries by channel and address."""
        return {who_of(row): row for row in self.deliveries}

    @cached_property
    def moves_of(self) -> Mapping[Who, list[Record]]:
        """What happened to each delivery, in order."""
        found: dict[Who, list[Record]] = defaultdict(list)
        for row in self.moves:
            found[who_of(row)].append(row)
        return found

    @cached_property
    def attempts_of(self) -> Mapping[tuple[int, int], list[Record]]:
        """The noted attempts by batch and number, in order."""
        found: dict[tuple[int, int], list[Record]] = defaultdict(list)
        for row in self.attempts:
            found[row["batch_id"], row["no"]].append(row)
        return found

    def accepted(self, who: Who) -> list[LedgerRow]:
        """The hand-offs that the far end took over: what the person receives."""
        return [row for row in self.hand_offs.get(who, []) if row.outcome is Outcome.ACCEPTED]

    def frozen_in(self, begin: float, end: float) -> float:
        """Seconds for which workers stood still between two moments, at most."""
        freezes = [mark for mark in self.marks if mark.what in {"freeze", "held"}]
        return sum(mark.end - mark.begin for mark in freezes if mark.begin < end and mark.end > begin)


def who_of(row: Record) -> Who:
    """The delivery that a row of the store speaks of."""
    return row["channel"], row["address"]


def channel_of(row: LedgerRow) -> str:
    """The channel of a hand-off."""
    return "Email" if row.protocol == "smtp" else _CHANNELS.get(row.path, row.path)


async def read_tables(conn: Connection) -> dict[str, Any]:
    """The store's rows as the rules want them."""
    tables: dict[str, Any] = {}
    for name, statement in TABLES.items():
        cursor = await conn.execute(statement)
        tables[name] = await cursor.fetchall()
    tables["campaign"] = tables["campaign"][0]
    return tables


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that did not hold, in words. `who`: the delivery concerned, if it is one."""

    rule: str
    words: str
    who: Who | None = None
