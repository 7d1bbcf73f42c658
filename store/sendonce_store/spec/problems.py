"""What is wrong with a document: one `Problem` per mistake, and `SpecError`, which carries all of them.

Every reader of this package flows into these two types, so that a person sees all mistakes of a file at once, each
with its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Path", "Problem", "SpecError", "field_name"]

Path: TypeAlias = tuple[str | int, ...]
"""Where a value stands in a document: `("spec", "messages", 0, "channel")`."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def field_name(path: Path) -> str:
    """Write a path as people do: `spec.messages[0].channel`, `metadata.labels["a.b/c"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: `source` (file name), `document` (from 1), `line` (from 1), `field` (may be empty), `message`."""

    source: str
    document: int
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        """Give `campaign.yaml:12: spec.retry.factor: must be at least 1 (got 0)`."""
        place = f"{self.source}:{self.line}: "
        if self.document > 1:
            place += f"document {self.document}: "
        # this message names its field already
        if not self.field or self.message.startswith(f"unknown field {self.field}"):
            return place + self.message
        return f"{place}{self.field}: {self.message}"


class SpecError(Exception):
    """The documents cannot be used; `problems` lists every reason, in the order of their lines."""

    problems: tuple[Problem, ...]

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems, sorted by source, line and field."""
        self.problems = tuple(sorted(problems, key=lambda p: (p.source, p.line, p.field)))
        super().__init__(self.problems)

    def __str__(self) -> str:
        """Give one line per problem."""
        return "\n".join(str(problem) for problem in self.problems)
