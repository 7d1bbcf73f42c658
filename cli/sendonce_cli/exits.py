"""How a command ends: exit codes that scripts can use, and the error that carries one.

0    done
1    the campaign ended, but not everybody was sent to
2    wrong input or usage; also a database or schema that can't be used: nothing was begun
3    the database, or its embedded server, failed
4    there is no such campaign, recipient or entry
5    the send key belongs to a campaign with other content
6    the campaign is stopped and waits for a person: to promote, resume or mend
70   a bug
130  interrupted: what was in flight was finished, the rest waits for the next run
143  told to stop (SIGTERM) before it was done; what it had not committed is as before
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import IO, Any

import click

__all__ = ["CliError", "Exit", "print_error"]


class Exit(IntEnum):
    """Exit codes."""

    OK = 0
    UNDELIVERED = 1
    BAD_INPUT = 2
    STORE = 3
    NOT_FOUND = 4
    CONFLICT = 5
    WAITS = 6
    BUG = 70
    INTERRUPTED = 130


class CliError(click.ClickException):
    """What a person is told: one line per problem, each of which names the place, what is wrong and the cure."""

    def __init__(self, problems: str | Sequence[str], code: Exit = Exit.BAD_INPUT) -> None:
        lines = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(lines))
        self.problems = lines
        self.code = code

    @property
    def exit_code(self) -> int:  # type: ignore[override]  # click has it as an attribute of the class
        """The exit code."""
        return int(self.code)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it to standard error, or to `file`."""
        for problem in self.problems:
            print_error(problem, file)


def print_error(problem: str, file: IO[Any] | None = None) -> None:
    """Print `error: …` on one line."""
    click.echo(f"error: {' '.join(problem.split())}", file=file, err=file is None)
