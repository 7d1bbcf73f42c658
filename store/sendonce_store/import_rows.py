"""People as an import writes them: recipients in, rows in PostgreSQL's binary COPY format out; no I/O.

All that can be made before anything is asked of the store is made here, block by block while the server works on the
chunk before: the idempotency keys, the JSON, the bytes. What is left for the transaction is to leave out whom the store
knows, and to put the batches' ids in front. The format: PostgreSQL manual, COPY, "Binary Format"; integers are
big-endian, each field is led by its length, -1 is NULL, jsonb by a version byte, 1.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from itertools import chain, repeat
from struct import Struct
from typing import Any

import orjson

from sendonce_store.recipients import Recipient, Rejected

BATCH_SIZE = 500
COPY_BEGIN = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
COPY_END = b"\xff\xff"
_NULL = b"\xff\xff\xff\xff"
_COUNT = Struct(">h").pack
_NUMBER = Struct(">iq").pack
_LENGTH = Struct(">i").pack
_JSONB = Struct(">iB").pack
# recipient_no, key, and the length of the address behind them; a digest is cut off at 16 bytes
_DELIVERY = Struct(">iqi16si").pack
_NOS = [Struct(">ii").pack(4, no) for no in range(1, BATCH_SIZE + 1)]
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Target:
    """A channel whose deliveries an import makes.

    `instead_of`: it comes after that one; with `no_address` an import makes deliveries for people without an address on
    that one, without it for nobody. `family`: the channels that stand in for each other, this one too. For people who
    prefer some channels to others, the first of the family is the one that they name first.
    """

    channel: str
    provider_id: int
    instead_of: str | None
    key_prefix: bytes
    no_address: bool = True
    family: frozenset[str] = frozenset()

    def comes_first(self, person: Recipient) -> bool:
        """Whether somebody with an address on this channel is written to over it at once."""
        if person.prefers:
            dearest = (channel for channel in person.prefers if channel in person.addresses)
            return next((one for one in dearest if one in self.family or one == self.channel), None) == self.channel
        return self.instead_of is None or (self.no_address and self.instead_of not in person.addresses)

    def digest(self, address: bytes) -> bytes:
        """The SHA-256 that the idempotency key of the delivery to this address is the beginning of."""
        return sha256(self.key_prefix + address).digest()


@dataclass(frozen=True, slots=True)
class Plan:
    """A campaign as an import needs it. `targets` in the order of its channels. `bound`: by row-level security."""

    campaign_id: int
    namespace: str
    targets: tuple[Target, ...]
    bound: bool = False

    def chunk(self, recipients: Sequence[Recipient], rejected: Iterable[Rejected], cursor: Mapping[str, Any]) -> Chunk:
        """A chunk of one block."""
        chunk = Chunk(self)
        chunk.add(recipients, rejected, cursor)
        return chunk


@dataclass(slots=True)
class Chunk:
    """What is committed at once: people, refused rows, and the cursor behind them.

    `deliveries` has, for each target of the plan, a row for each address, from the first line that names it. `people`
    has, by line, the row of everybody with a delivery in it, and of those in `unreachable`, who have no address for any
    target. `taken` counts all that were looked at, `size` bytes.
    """

    plan: Plan
    deliveries: list[tuple[Target, dict[str, bytes]]] = field(init=False)
    people: dict[int, bytes] = field(default_factory=dict)
    unreachable: set[int] = field(default_factory=set)
    rejected: list[Rejected] = field(default_factory=list)
    cursor: Mapping[str, Any] = field(default_factory=dict)
    taken: int = 0
    size: int = 0

    def __post_init__(self) -> None:
        """Begin with no deliveries."""
        self.deliveries = [(target, {}) for target in self.plan.targets]

    @property
    def lines(self) -> int:
        """The number of records, refused ones too."""
        return self.taken + len(self.rejected)

    def add(self, recipients: Sequence[Recipient], rejected: Iterable[Rejected], cursor: Mapping[str, Any]) -> None:
        """Take one more block; `cursor` is the place behind it."""
        head = _COUNT(10) + _NUMBER(8, self.plan.campaign_id) + _text(self.plan.namespace)
        for person in recipients:
            if self._deliver(person):
                row = self.people[person.line] = head + _person(person)
                self.size += len(row)
        self.taken += len(recipients)
        self.rejected += rejected
        self.cursor = cursor

    def _deliver(self, person: Recipient) -> bool:
        """Make a person's deliveries; false for somebody whom earlier lines of the chunk have on every channel."""
        addresses, reachable, new = person.addresses, False, False
        for target, rows in self.deliveries:
            address = addresses.get(target.channel)
            if address is not None and target.comes_first(person):
                reachable, identity = True, address.normalised
                if identity not in rows:
                    data = identity.encode()
                    rows[identity] = _DELIVERY(8, person.line, 16, target.digest(data), len(data)) + data
                    new = True
        if not reachable:
            self.unreachable.add(person.line)
        return new or not reachable

    def without(self, known: Sequence[Collection[str]]) -> Chunk:
        """The chunk without the deliveries that the store has already, and without people who are left with none."""
        if not any(known):
            return self
        rest = replace(self)
        rest.deliveries = [
            (target, {address: row for address, row in rows.items() if address not in there})
            for (target, rows), there in zip(self.deliveries, known, strict=True)
        ]
        kept = self.unreachable.union(_line(row) for _, rows in rest.deliveries for row in rows.values())
        rest.people = {line: row for line, row in self.people.items() if line in kept}
        return rest


def _line(delivery: bytes) -> int:
    return int.from_bytes(delivery[4:12], "big")


def key_prefix(store_id: str, namespace: str, send_key: str, channel: str) -> bytes:
    """What stands before the address in the text whose SHA-256 begins with a delivery's key.

    The key is what the schema's function `delivery_key` makes: fallback rows get theirs from there.
    """
    return f"{store_id}\x1f{namespace}\x1f{send_key}\x1f{channel}\x1f".encode()


@dataclass(frozen=True, slots=True)
class Fate:
    """What deliveries begin as. `now` in microseconds since 2000-01-01, UTC, as PostgreSQL counts.

    `restored_to`: what was done after this time was lost with the database; see `restoring.py`.
    """

    cancelled: bool
    now: int
    restored_to: datetime | None = None

    def fields(self) -> bytes:
        """State, reason, next_attempt_at, finished_at."""
        time = _NUMBER(8, self.now)
        if self.cancelled:
            return _text("cancelled") + _text("cancelled") + _NULL + time
        return _text("pending") + _NULL + time + _NULL


def batch_rows(plan: Plan, target: Target, fate: Fate, batch: int, rows: Sequence[bytes]) -> bytes:
    """The rows of one batch, numbered from 1."""
    head = b"".join((
        _COUNT(12), _NUMBER(8, plan.campaign_id), _text(plan.namespace), _text(target.channel), fate.fields(),
        _NUMBER(8, batch),
    ))  # fmt: skip
    return b"".join(chain.from_iterable(zip(repeat(head), _NOS, rows)))


def cut(rows: Collection[bytes]) -> list[list[bytes]]:
    """The rows in the order of their lines, as many at a time as a batch has."""
    ordered = list(rows)
    return [ordered[start : start + BATCH_SIZE] for start in range(0, len(ordered), BATCH_SIZE)]


def _person(person: Recipient) -> bytes:
    """The columns of a person behind the campaign's."""
    addresses = orjson.dumps(person.addresses, list)
    variables = as_json(person.variables)
    return b"".join((
        _NUMBER(8, person.line),
        _NULL if person.ref is None else _text(person.ref),
        _JSONB(len(addresses) + 1, 1), addresses,
        _NULL if person.timezone is None else _text(person.timezone),
        _NULL if person.locale is None else _text(person.locale),
        _JSONB(len(variables) + 1, 1), variables,
        _NULL if person.quiet is None else _text(person.quiet),
        _text(",".join(person.prefers)) if person.prefers else _NULL,
    ))  # fmt: skip


def _text(value: str) -> bytes:
    data = value.encode()
    return _LENGTH(len(data)) + data


def as_json(value: Mapping[str, object]) -> bytes:
    """JSON in UTF-8. Integers beyond 64 bits, which are rare, go the slow way."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return _encode(value).encode()
