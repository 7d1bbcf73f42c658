"""The records among lines that need a real CSV parser: Python's csv module in its strict mode."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from .lines import LINE_LIMIT

_NOT_CLOSED = f"opens a quote that is not closed within {LINE_LIMIT // 1024} KiB"
# the module's own limit, 128 KiB, would refuse fields that are allowed here when no quote is near; it is one for the
# whole process, so that it is only ever raised
csv.field_size_limit(max(csv.field_size_limit(), LINE_LIMIT))


@dataclass(frozen=True, slots=True)
class Record:
    """A record: the index of its first line, its values, and whether bytes in it may not be text."""

    index: int
    values: list[str]
    foul: bool


@dataclass(frozen=True, slots=True)
class Broken:
    """A line with which no record can begin, and why."""

    index: int
    reason: str


class RecordParser:
    """Iterates over the records that begin at `start`; `end` is the index behind the last one.

    A record that the lines do not finish ends the iteration, unless it is too long or nothing follows (`final`).
    """

    def __init__(self, lines: list[bytes], start: int, *, final: bool) -> None:
        self._lines = _Lines(lines, start)
        self._parser = csv.reader(self._lines, strict=True)
        self._final = final
        self.end = start

    def __iter__(self) -> Iterator[Record | Broken]:
        """Give each record in turn, or the line that is none."""
        lines = self._lines
        while not lines.at_end():
            begin = lines.begin_record()
            values, problem = self._next()
            if lines.size_since(begin) > LINE_LIMIT:
                problem = _NOT_CLOSED
            elif lines.ran_dry and not self._final:
                return
            if problem:
                lines.at = begin + 1
            self.end = lines.at
            if problem:
                yield Broken(begin, problem)
            elif len(values) > 1 or (values and values[0].strip()):
                yield Record(begin, values, lines.foul)

    def _next(self) -> tuple[list[str], str]:
        try:
            return next(self._parser), ""
        except csv.Error as error:
            return [], self._explain(str(error))

    def _explain(self, error: str) -> str:
        if self._lines.ran_dry:
            return "opens a quote that is never closed"
        if error.startswith("new-line"):
            return "contains a carriage return outside quotes"
        return "has text behind a closing quote; write a quote inside quotes as two"


class _Lines:
    """What the csv module reads: it asks for as many lines as a record needs."""

    def __init__(self, lines: list[bytes], start: int) -> None:
        self._lines = lines
        self.at = start
        self.foul = False
        self.ran_dry = False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        if self.at_end():
            self.ran_dry = True
            raise StopIteration
        line = self._lines[self.at]
        self.at += 1
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self.foul = True
            text = line.decode(errors="surrogateescape")
        if "\x00" in text:
            self.foul = True
        return text + "\n"

    def at_end(self) -> bool:
        return self.at >= len(self._lines)

    def begin_record(self) -> int:
        self.foul = self.ran_dry = False
        return self.at

    def size_since(self, begin: int) -> int:
        if self.at == begin + 1:
            return len(self._lines[begin])
        return sum(len(line) + 1 for line in self._lines[begin : self.at])
