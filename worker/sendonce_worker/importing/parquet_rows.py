"""The rows of a Parquet file, as they come from its reader, become recipients and refused rows; pure.

What a column may hold is decided by its type, before the first row: an address is text, a variable anything but bytes
and nested values.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from sendonce_store.spec.channels import RESERVED_COLUMNS

from .columns import Columns
from .errors import SourceUnreadableError
from .faults import BadFieldError
from .lines import LINE_LIMIT
from .preamble import check_columns
from .query import json_number
from .records import TOO_LONG
from .rows import Normaliser, Outcome, check_storable
from .stream import Layout

_OUT_OF_RANGE = "is a date or time outside of the years 1 to 9999"
_CONVERT: Mapping[str, Any] = {"decimal": lambda text: json_number(Decimal(text)), "float": json_number}


class Column(NamedTuple):
    """A column of the file. `kind`: see `parquet_reader`; None: nothing that a recipient can have."""

    name: str
    kind: str | None
    type: str


class ParquetRows:
    """Makes recipients of the rows of one file.

    Raises `SourceUnreadableError` or `MissingColumnError` for columns that can't be used.
    """

    def __init__(self, columns: Sequence[Column], layout: Layout) -> None:
        self._normaliser = Normaliser(layout.channels, secret=layout.secret)
        self._plan = check_columns([one.name for one in columns], layout.channels, layout.field, secret=layout.secret)
        _check_types(columns, self._plan, layout)
        self._texts = [no for no, column in enumerate(columns) if column.kind == "text"]
        self._converters = [
            (no, _CONVERT[one.kind]) for no, one in enumerate(columns) if one.kind and one.kind in _CONVERT
        ]

    def take(self, line: int, values: list[list[Any]], faults: Sequence[tuple[int, int]]) -> Outcome:
        """What becomes of some rows, of which the first is number `line`: the values of each column, and bad places."""
        for no, convert in self._converters:
            values[no] = [None if value is None else convert(value) for value in values[no]]
        outcome = Outcome()
        rows: Iterator[tuple[int, Sequence[object]]] = enumerate(zip(*values, strict=True), line)
        if faults or self._suspicious(values):
            bad = {line + row: column for row, column in faults}
            rows = self._checked(rows, bad, outcome)
        self._normaliser.rows(self._plan, rows, outcome)
        return outcome

    def _suspicious(self, values: Sequence[Sequence[Any]]) -> bool:
        """Whether there may be a row that is refused as a whole: only then each is looked at."""
        texts = ["".join(filter(None, values[no])) for no in self._texts]
        return sum(map(len, texts)) > LINE_LIMIT // 4 or any("\x00" in text for text in texts)

    def _checked(
        self, rows: Iterator[tuple[int, Sequence[object]]], bad: Mapping[int, int], outcome: Outcome
    ) -> Iterator[tuple[int, Sequence[object]]]:
        names = self._plan.names
        for line, row in rows:
            texts = [value for value in row if isinstance(value, str)]
            if line in bad:
                outcome.rejected.append(self._normaliser.reject(line, names[bad[line]], _OUT_OF_RANGE))
            elif sum(len(text.encode()) for text in texts) > LINE_LIMIT:
                outcome.rejected.append(self._normaliser.reject(line, "row", TOO_LONG, ",".join(texts)[:LINE_LIMIT]))
            else:
                try:
                    check_storable(names, row)
                except BadFieldError as error:
                    outcome.rejected.append(self._normaliser.refuse(line, error))
                else:
                    yield line, row


def _check_types(columns: Sequence[Column], plan: Columns, layout: Layout) -> None:
    texts = {index for _, _, index, _ in plan.addresses} | {index for name, index, _ in plan.others if name != "id"}
    numbers = {index for name, index, _ in plan.others if name == "id"}
    for no, (column, name) in enumerate(zip(columns, plan.names, strict=True)):
        problem = None
        if no in texts and column.kind not in {"text", "nothing"}:
            problem = f"where {name} is text: write the column as strings"
        elif no in numbers and column.kind not in {"text", "integer", "nothing"}:
            problem = "where an id is text or an integer: write the column as strings"
        elif column.kind is None:
            problem = "of which no variable can be made: leave the column out, or write it as strings"
        if problem:
            hidden = layout.secret and name not in RESERVED_COLUMNS
            place, held = (f"column {no + 1}", "values") if hidden else (f"column {name}", f"{column.type} values")
            raise SourceUnreadableError(layout.field, f"its {place} holds {held}, {problem}")
