"""What goes between the queue and those who use it: rows, with times in seconds and aware datetimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

# why a delivery ended, as the programs write it; what the schema writes beside it stands in the SQL, and all of it in
# `spec.DeliveryReason`
Reason = Literal[
    "permanent", "retries_exhausted", "render_error", "unknown_outcome", "unknown_timezone", "deadline", "cancelled",
    "import_failed", "unexpected_count", "too_many_rejected",
]  # fmt: skip
# why one waits
Wait = Literal["quiet_hours"]


@dataclass(frozen=True, slots=True)
class Repeats:
    """What decides whether an attempt with an unknown outcome may be repeated. Times in seconds."""

    key_window: float | None  # None: the far end knows no keys
    patience: float  # time-out plus margin: how long an attempt can be under way
    resend: bool  # uncertainPolicy: Resend
    max_attempts: int

    def parameters(self) -> dict[str, Any]:
        """As the statements name them."""
        return {
            "key_window": self.key_window,
            "patience": self.patience,
            "resend": self.resend,
            "max_attempts": self.max_attempts,
        }


@dataclass(frozen=True, slots=True)
class Batch:
    """A claimed batch; `token` guards every write."""

    id: int
    token: UUID
    kind: str
    channel: str | None
    provider_id: int | None
    cursor: dict[str, Any] | None
    crashes: int
    claims: int


# not frozen: one for each delivery, and a frozen one takes twice as long to make
@dataclass(slots=True)
class Row:
    """One delivery that is due, with the person it goes to. The fields stand as in the statement `due_rows`."""

    no: int
    attempt_seq: int
    tries: int
    maybe_accepted: bool
    key: str
    digest: bytes | None
    recipient_no: int
    address: str
    ref: str | None
    timezone: str | None
    locale: str | None
    variables: dict[str, object]
    addresses: dict[str, list[str]]
    quiet: str | None = None  # the person's own quiet hours, such as 21:00-09:00


@dataclass(slots=True)
class Result:
    """How an attempt ended: the new state and what goes into the ledger. `outcome` None: nothing to note."""

    no: int
    seq: int
    state: str  # sent | pending | failed | uncertain
    outcome: str | None = None
    reason: Reason | None = None
    code: str | None = None
    error: str | None = None
    message_id: str | None = None
    delay: float | None = None  # seconds until the next attempt, for pending
    unknown: bool = False  # the attempt may have been accepted
    used: int = 0  # attempts taken off the budget


@dataclass(frozen=True, slots=True)
class Unsent:
    """A row that ends (failed, suppressed) or waits (pending with a delay in seconds) without a hand-off."""

    no: int
    state: str
    reason: Reason | Wait | None
    code: str | None = None
    error: str | None = None
    delay: float | None = None


@dataclass(slots=True)
class Started:
    """A row of the asked group after the commit; only state `sending` may be handed off.

    The fields stand as the statement `reread` returns them.
    """

    no: int
    state: str
    reason: str | None
    attempt_seq: int
    first_attempt_at: datetime | None
    maybe_accepted: bool


@dataclass(frozen=True, slots=True)
class Fallback:
    """The channel on which rows go on that ended in one of `states`.

    Not `usual`: only for people who prefer it so.
    """

    channel: str
    provider_id: int
    states: tuple[str, ...]
    usual: bool = True


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a batch's rows are repeated and go on elsewhere."""

    repeats: Repeats
    fallbacks: Sequence[Fallback] = ()
    capped: bool = False  # spec.frequencyCap: people have had enough after so many messages


@dataclass(frozen=True, slots=True)
class Turn:
    """What one transaction of a batch is to do."""

    results: Sequence[Result] = ()
    unsent: Sequence[Unsent] = ()
    group: Sequence[tuple[int, bytes]] = ()  # no, digest of the content
    lease: float | None = None  # seconds; None: the lease is not renewed with this turn
    flowing: bool = True  # the provider's next pause starts small again if something of this was accepted


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What came of it.

    `unwritten`: results whose row was settled otherwise meanwhile; `stopped`: the campaign sends no more; `paused`: its
    provider does not for now; `recovering`: it has been paused before, and its next pause would be longer.
    """

    unwritten: frozenset[int]
    settled: Mapping[int, str]
    started: Sequence[Started]
    stopped: bool
    paused: bool
    recovering: bool


@dataclass(frozen=True, slots=True)
class Holder:
    """Who writes: the worker's identity and its campaign."""

    worker: str
    namespace: str
    campaign_id: int
