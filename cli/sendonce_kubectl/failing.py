"""How a command ends: exit codes that scripts can use, and the error that carries one.

0    done
1    refused for good; or the proof does not hold; or a campaign that was waited for did not reach everybody
2    wrong input or usage
3    the API server or the console can't be reached, or failed
4    there is no such campaign, recipient or order
5    a right is missing, or you are not signed in
6    not done in time: the order stands, and waits
70   a bug
130  interrupted
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import click

__all__ = ["Exit", "PluginError", "tell"]


class Exit(IntEnum):
    """Exit codes."""

    OK = 0
    REFUSED = 1
    BAD_INPUT = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    NO_RIGHT = 5
    WAITS = 6
    BUG = 70
    INTERRUPTED = 130


class PluginError(Exception):
    """What a person is told: each line names what is wrong and the cure."""

    def __init__(self, problems: str | Sequence[str], code: Exit = Exit.BAD_INPUT) -> None:
        """One line, or several."""
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        self.code = code
        super().__init__("\n".join(self.problems))


def tell(words: str) -> None:
    """Print a line to standard error: what is about the command, not its result."""
    click.echo(" ".join(words.split()), err=True)
