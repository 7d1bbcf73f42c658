"""The far end's ledger: one JSON line per hand-off, the truth that tests and the demo read.

In: decided hand-offs. Out: lines in a file, each handed to the kernel before the answer is sent, so
that a killed far end has lost none; and, read back, typed rows with pure summaries.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sendonce_cli.simulate.behaviour import Pace, SettingsError
from sendonce_cli.simulate.outcomes import Cause, Outcome
from sendonce_cli.simulate.pace import pace_excess

Destination = tuple[str, str, str]
"""Recipient, protocol and path."""


class LedgerError(ValueError):
    """A line of a ledger that is not one of ours; names the file and the line."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One hand-off as the far end saw it. Times are Unix seconds that never step back."""

    ts: float
    """When the outcome was decided; for ``accepted`` the moment of the acceptance."""
    arrived: float
    """When the hand-off had been read in full."""
    protocol: str
    """``http`` or ``smtp``."""
    path: str
    """The URL's path; empty for SMTP."""
    key: str | None
    to: str
    outcome: Outcome
    cause: Cause
    answer_lost: bool
    """The far end gave no answer that the sender could understand."""
    status: int | None
    """HTTP status or SMTP code of the answer; None if it was lost."""
    payload_sha256: str | None
    """Of the HTTP body or the SMTP message as received; None if refused before the message."""
    attempt: int
    """How many hand-offs with this key (without one: to this recipient) had come, with this one."""
    message_id: str | None

    def line(self) -> bytes:
        """Return the row as one line of JSON, with its newline."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return json.dumps(values, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "LedgerRow":
        """Return the row that ``line`` wrote; raises KeyError, TypeError or ValueError."""
        known = {item.name: values[item.name] for item in fields(cls)}
        known["outcome"], known["cause"] = Outcome(known["outcome"]), Cause(known["cause"])
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Ledger:
    """All rows of a ledger in the order in which they were decided."""

    rows: tuple[LedgerRow, ...]

    @classmethod
    def read(cls, path: Path) -> "Ledger":
        """Read a ledger, also while it is being written: an unfinished last line is left out.

        Raises ``LedgerError`` for a line that is not a row, and OSError.
        """
        whole, _, _ = path.read_bytes().rpartition(b"\n")
        lines = whole.split(b"\n") if whole else []
        return cls(tuple(_row(path, number, line) for number, line in enumerate(lines, 1)))

    def with_outcome(self, *outcomes: Outcome) -> tuple[LedgerRow, ...]:
        """Return the rows that ended so."""
        return tuple(row for row in self.rows if row.outcome in outcomes)

    def accepted(self) -> Counter[Destination]:
        """Return how often each destination was accepted: what its person would receive."""
        return Counter(_destination(row) for row in self.with_outcome(Outcome.ACCEPTED))

    def accepted_keys(self) -> Counter[str]:
        """Return how often each key was accepted; hand-offs without a key do not appear."""
        rows = self.with_outcome(Outcome.ACCEPTED)
        return Counter(row.key for row in rows if row.key is not None)

    def duplicates(self) -> dict[Destination, int]:
        """Return the destinations that were accepted more than once, with the number of times."""
        return {to: count for to, count in self.accepted().items() if count > 1}

    def duplicate_keys(self) -> dict[str, int]:
        """Return the keys that were accepted more than once, with the number of times."""
        return {key: count for key, count in self.accepted_keys().items() if count > 1}

    def outcomes(self) -> Counter[Outcome]:
        """Return the number of rows by outcome."""
        return Counter(row.outcome for row in self.rows)

    def pace_excess(self, pace: Pace, protocol: str | None = None) -> float:
        """Return by how many hand-offs rate·t + burst was exceeded at worst; 0 if never.

        Every hand-off counts, also one that was refused: it was sent.
        """
        rows = (row for row in self.rows if protocol in (None, row.protocol))
        return pace_excess((row.arrived for row in rows), pace)

    def summary(self, pace: Pace | None = None) -> dict[str, Any]:
        """Return the figures of ``GET /ledger/summary``, ready for JSON."""
        violations = (row for row in self.rows if row.cause is Cause.PACE)
        return {
            "rows": len(self.rows),
            "outcomes": dict(sorted(self.outcomes().items())),
            "accepted": self.accepted().total(),
            "recipients": len(self.accepted()),
            "duplicates": _listed(self.duplicates()),
            "duplicate_keys": self.duplicate_keys(),
            "answers_lost": sum(row.answer_lost for row in self.rows),
            "pace_violations": sum(1 for _ in violations),
            "pace_excess": None if pace is None else self.pace_excess(pace),
        }


class LedgerWriter:
    """Appends rows; each is with the kernel when ``append`` returns."""

    def __init__(self, path: Path, *, go_on: bool) -> None:
        """Open the file; raises ``SettingsError`` if it has rows and ``go_on`` is false."""
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise SettingsError("ledger", f"cannot write {path}: {error.strerror}") from error
        if not go_on and self._file.tell():
            self._file.close()
            problem = f"{path} has rows already; name another file, or go on with it (--append)"
            raise SettingsError("ledger", problem)

    def append(self, row: LedgerRow) -> None:
        """Write one row; raises OSError if it could not be written."""
        rest = row.line()
        while rest:
            # A raw file may take a part only, and None stands for a file that would block.
            rest = rest[self._file.write(rest) or 0 :]

    def close(self) -> None:
        """Close the file; a row that comes later raises ValueError."""
        self._file.close()


def end_torn_line(path: Path) -> None:
    """Cut an unfinished last line off, which a machine's crash can leave, before going on."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)


def _row(path: Path, number: int, line: bytes) -> LedgerRow:
    try:
        return LedgerRow.from_json(json.loads(line))
    except (KeyError, TypeError, ValueError) as error:
        problem = f"{path}, line {number}: not a row of a far end's ledger ({error!r})"
        raise LedgerError(problem) from error


def _destination(row: LedgerRow) -> Destination:
    return row.to, row.protocol, row.path


def _listed(duplicates: Mapping[Destination, int]) -> list[dict[str, Any]]:
    names: Iterable[tuple[Destination, int]] = sorted(duplicates.items())
    return [{"to": to, "protocol": protocol, "path": path, "accepted": count} for (to, protocol, path), count in names]
