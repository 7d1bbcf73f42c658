"""What happened in a run, in order, with times: told to whoever reads a failing run, and read by the judge.

In: words, and the disturbances that the judge must allow for. Out: lines, marks, and the file that keeps them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Mark:
    """A disturbance, from `begin` to `end` (Unix seconds). `workers`: how many of them it hit."""

    what: str
    begin: float
    end: float
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person ordered. It held from `done` on, for certain, until `undone` (None: to the end). Unix seconds.

    What was done between `asked` and `done` may have seen it or not.
    """

    what: str  # suspend, cancel, deadline, opt_out, retry, resolve, resume, promote
    asked: float
    done: float
    undone: float | None = None
    detail: str = ""
    addresses: frozenset[str] = frozenset()


@dataclass(slots=True)
class Story:
    """The growing record of one run."""

    began: float = field(default_factory=time.time)
    lines: list[tuple[float, str]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    wishes: list[Wish] = field(default_factory=list)

    def say(self, words: str) -> None:
        """Note something with the time."""
        self.lines.append((time.time(), words))

    def mark(self, what: str, begin: float, end: float | None = None, workers: int = 1) -> None:
        """Note a disturbance."""
        self.marks.append(Mark(what, begin, time.time() if end is None else end, workers))

    def text(self) -> str:
        """All of it, with seconds since the beginning and the clock's own time."""
        return "\n".join(f"{at - self.began:8.3f}  {at:.3f}  {words}" for at, words in self.lines)
