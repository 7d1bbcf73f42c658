"""CSV as in RFC 4180: whole lines in, recipients and refused rows out.

Lines without a quote, nearly all there are, are split at their commas. The rest goes through Python's csv module in its
strict mode, record by record, since a quoted field may hold commas, quotes and line feeds. When a record cannot be read
(a quote that is never closed, text behind a closing quote) only the line it begins on is refused and reading goes on
with the next: one stray quote must not swallow the people behind it. What a record is never depends on how the bytes
were cut into chunks, or a resumed import would count otherwise than the first.
"""

from collections.abc import Iterator, Sequence

from sendonce_store.recipients import Rejected

from .columns import Columns
from .csv_parser import Broken, Record, RecordParser
from .lines import LINE_LIMIT, split_lines
from .records import BLOCK_ROWS, TOO_LONG, Part
from .rows import Normaliser, Outcome

_NOT_UTF8 = "is not valid UTF-8"


class CsvReader:
    """Reads the records behind the header. `line`: the number of lines that were consumed before."""

    def __init__(self, columns: Columns, normaliser: Normaliser, line: int) -> None:
        self._columns = columns
        self._normaliser = normaliser
        self._line = line
        self._held: list[bytes] = []

    def read(self, data: bytes, *, final: bool = False) -> Iterator[Part]:
        """Take whole lines; the lines of a record that is not finished are held for the next call."""
        lines = self._held + split_lines(data)
        # only the last line of the source can lack its line feed
        unended = final and bool(data) and not data.endswith(b"\n")
        start = 0
        while start < len(lines):
            part = self._take(lines, start, final=final)
            if part is None:
                break
            start += part.lines
            at_end = unended and start == len(lines)
            yield Part(part.outcome, part.data[:-1] if at_end else part.data, part.lines)
        self._held = lines[start:]

    def refuse_long_line(self, head: bytes) -> Outcome:
        """The next line is too long."""
        self._line += 1
        excerpt = head[:LINE_LIMIT].decode(errors="replace")
        return Outcome(rejected=[self._normaliser.reject(self._line, "row", TOO_LONG, excerpt)])

    def _take(self, lines: list[bytes], start: int, *, final: bool) -> Part | None:
        chunk = lines[start : start + BLOCK_ROWS]
        data = b"\n".join(chunk) + b"\n"
        part = self._split(data, len(chunk)) or self._parse(lines, start, final=final)
        if part:
            self._line += part.lines
        return part

    def _split(self, data: bytes, lines: int) -> Part | None:
        """The records of lines that need no parser; None if there may be one that does."""
        if b'"' in data or b"\x00" in data:
            return None
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        if "\r" in text:
            text = text.replace("\r\n", "\n")
            if "\r" in text:
                return None
        numbered = enumerate(text.split("\n"), self._line + 1)
        rows = ((number, line.split(",")) for number, line in numbered if line and not line.isspace())
        outcome = Outcome()
        self._normaliser.rows(self._columns, rows, outcome)
        return Part(outcome, data, lines)

    def _parse(self, lines: list[bytes], start: int, *, final: bool) -> Part | None:
        records = RecordParser(lines, start, final=final)
        outcome = Outcome()
        for record in records:
            line = self._line + 1 + record.index - start
            if isinstance(record, Broken):
                excerpt = lines[record.index].decode(errors="replace")
                outcome.rejected.append(self._normaliser.reject(line, "row", record.reason, excerpt))
            elif not record.foul or not self._refused(line, record, outcome):
                self._normaliser.rows(self._columns, ((line, record.values),), outcome)
            if outcome.lines >= BLOCK_ROWS:
                break
        taken = records.end - start
        return Part(outcome, b"\n".join(lines[start : records.end]) + b"\n", taken) if taken else None

    def _refused(self, line: int, record: Record, outcome: Outcome) -> bool:
        """Refuse a record that holds bytes no text can be made of."""
        rejected = self._foul_field(line, record.values)
        if rejected:
            outcome.rejected.append(rejected)
        return rejected is not None

    def _foul_field(self, line: int, values: Sequence[str]) -> Rejected | None:
        for index, value in enumerate(values):
            reason = _foulness(value)
            if reason:
                named = index < len(self._columns.names)
                name = self._columns.names[index] if named else "row"
                excerpt = value.encode(errors="surrogateescape").decode(errors="replace")
                return self._normaliser.reject(line, name, reason, excerpt)
        return None


def _foulness(value: str) -> str | None:
    if "\x00" in value:
        return "contains a NUL character"
    try:
        value.encode()
    except UnicodeEncodeError:
        return _NOT_UTF8
    return None
