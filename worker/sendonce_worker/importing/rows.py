"""Records in, recipients and refused rows out.

A reader hands over the values of each record with its line; here each becomes a `Recipient` or a `Rejected`. A record
with one bad value is refused whole, also when another of its channels has a good address: half a recipient would go
unnoticed, a refused row is listed with its line, its field and a reason.
"""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.spec.channels import RESERVED_COLUMNS

from .columns import Columns, plan_columns
from .faults import BadFieldError, FieldError

EXCERPT_LENGTH = 120
_MAX_PLANS = 500
MAX_DEPTH = 50


@dataclass(slots=True)
class Outcome:
    """What became of some records: the recipients and the refused ones, in the order they were met."""

    recipients: list[Recipient] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def lines(self) -> int:
        """The number of records, blank lines and a header not counted."""
        return len(self.recipients) + len(self.rejected)


class Normaliser:
    """Turns records into recipients for one campaign. `secret`: nothing of a refused row may be shown."""

    def __init__(self, channels: Collection[str], *, secret: bool = False) -> None:
        self._channels = frozenset(channels)
        self._secret = secret
        self._plans: dict[tuple[str, ...], Columns] = {}

    def rows(self, columns: Columns, rows: Iterable[tuple[int, Sequence[object]]], outcome: Outcome) -> None:
        """Take records of one shape: (line, values in the order of the columns)."""
        width = len(columns.names)
        accept, recipient = outcome.recipients.append, columns.recipient
        for line, values in rows:
            if len(values) != width:
                reason = f"has {len(values)} fields; the header names {width}"
                outcome.rejected.append(self.reject(line, "row", reason, ",".join(map(str, values))))
                continue
            try:
                accept(recipient(line, values))
            except BadFieldError as error:
                outcome.rejected.append(self.refuse(line, error))

    def mapping(self, line: int, record: Mapping[str, object], outcome: Outcome) -> None:
        """Take one record that names its own columns."""
        names = tuple(record)
        columns = self._plans.get(names)
        if columns is None:
            try:
                columns = self._plan(names)
            except ValueError as error:
                reason = "names a column twice or not at all"
                outcome.rejected.append(self.reject(line, "row", reason, ",".join(names), detail=str(error)))
                return
        try:
            outcome.recipients.append(columns.recipient(line, tuple(record.values())))
        except BadFieldError as error:
            outcome.rejected.append(self.refuse(line, error))

    def reject(self, line: int, column: str, reason: str, raw: object = "", *, detail: str = "") -> Rejected:
        """A refused row, with as much of it as may be shown."""
        if self._secret:
            # a name that is not ours is content, too
            return Rejected(line, column if column in RESERVED_COLUMNS else "row", reason, "")
        return Rejected(line, column, f"{reason} ({clip(detail)})" if detail else reason, clip(raw))

    def _plan(self, names: tuple[str, ...]) -> Columns:
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        columns = self._plans[names] = plan_columns(names, self._channels)
        return columns

    def refuse(self, line: int, error: BadFieldError) -> Rejected:
        """A row refused for one of its values."""
        fault = error.fault
        return self.reject(line, error.field, fault.reason, fault.value, detail=fault.detail)


def clip(raw: object) -> str:
    """The value as one short printable line, which PostgreSQL can keep."""
    text = raw if isinstance(raw, str) else json.dumps(raw, default=str, ensure_ascii=False)
    short = text[:EXCERPT_LENGTH]
    shown = short if short.isprintable() else "".join(c if c.isprintable() else " " for c in short)
    return f"{shown}…" if len(text) > EXCERPT_LENGTH else shown


def check_storable(names: Sequence[str], values: Sequence[object]) -> None:
    """Refuse what PostgreSQL's jsonb cannot keep: NUL, halves of surrogate pairs, values nested too deeply.

    One such value would fail the commit of the whole block. Raises `BadFieldError`.
    """
    for name, value in zip(names, values, strict=True):
        for text in (name, value):
            try:
                _check_value(text, MAX_DEPTH)
            except FieldError as fault:
                raise BadFieldError(clip(name), fault) from None


def _check_value(value: object, depth: int) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise FieldError("is not a finite number", value=str(value))
    elif isinstance(value, dict | list | tuple):
        if not depth:
            raise FieldError(f"is nested more than {MAX_DEPTH} levels deep", value="")
        inner = (*value, *value.values()) if isinstance(value, dict) else value
        for item in inner:
            _check_value(item, depth - 1)


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise FieldError("contains a NUL character", value=text)
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FieldError("contains half of a surrogate pair, which is no character", value="") from None
