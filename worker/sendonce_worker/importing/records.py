"""What the readers of CSV and NDJSON have in common.

Whole lines go in, `Part`s come out: the records they hold, the bytes and lines these took. A part ends with a record,
so that an import may stop and resume behind any of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from .lines import LINE_LIMIT
from .rows import Outcome

# so few that reading them does not hold the loop up (it feeds the server, too), and that they come and go unseen by
# Python's collector of cycles, which looks at every 700 new objects
BLOCK_ROWS = 125
TOO_LONG = f"is longer than {LINE_LIMIT // 1024} KiB"


@dataclass(frozen=True, slots=True)
class Part:
    """Some records: what became of them, and the bytes and lines of the source that they took."""

    outcome: Outcome
    data: bytes
    lines: int


class RecordReader(Protocol):
    """Reads the records of one format."""

    def read(self, data: bytes, *, final: bool = False) -> Iterator[Part]:
        """Take whole lines; with `final` nothing follows them, so that an unfinished record is a bad one."""
        ...

    def refuse_long_line(self, head: bytes) -> Outcome:
        """The next line, which begins so, is too long to be read."""
        ...
