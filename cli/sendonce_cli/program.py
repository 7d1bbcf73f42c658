"""The `sendonce` program as a click group with one boundary for errors: no command ever shows a traceback.

In: the arguments. Out: an exit code of `exits.Exit`. Whatever the packages below raise becomes `error: …` here.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import click
import psycopg

from sendonce_cli.embedded_binaries import EmbeddedPostgresError
from sendonce_cli.exits import CliError, Exit, print_error
from sendonce_store import loading
from sendonce_store.actions import ActionError
from sendonce_store.campaigns import ProviderNotFoundError
from sendonce_store.connection import StoreUnavailableError
from sendonce_store.locking import SchemaBusyError
from sendonce_store.migrate import SchemaVersionError
from sendonce_store.proof import ProofError
from sendonce_store.restoring import RestoreError
from sendonce_store.retention import RetentionError
from sendonce_store.spec import SpecError
from sendonce_store.tenancy import TenancyError

__all__ = ["Program"]

_BAD_INPUT = (
    StoreUnavailableError,
    SchemaVersionError,
    SchemaBusyError,
    ProviderNotFoundError,
    ActionError,
    ProofError,
    RestoreError,
    RetentionError,
    TenancyError,
)


class Program(click.Group):
    """The group of all commands."""

    def __init__(self, *args: Any, table: Mapping[str, str], **rest: Any) -> None:  # noqa: ANN401 - click's own options
        """`table`: name → `module:attribute` of each command, imported when it is used."""
        super().__init__(*args, **rest)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which people need them, not by the alphabet."""
        del ctx
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in self._table:
            return None
        module, _, attribute = self._table[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        loading.end()
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - click's own signature
        **extra: Any,  # noqa: ANN401 - and its own types
    ) -> Any:  # noqa: ANN401
        """Run a command and exit with its code; with `standalone_mode` off, as click does."""
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        sys.exit(guarded(run))


def guarded(command: Callable[[], object]) -> int:
    """Run it; every error becomes lines on standard error and an exit code."""
    try:
        result = command()
    except BrokenPipeError:
        _close_stdout()
        return Exit.OK
    except Exception as error:  # noqa: BLE001 - this is the boundary
        code, problems = explained(error)
        for problem in problems:
            print_error(problem)
        return code
    return result if isinstance(result, int) else Exit.OK


def explained(error: Exception) -> tuple[int, list[str]]:
    """The exit code of an error, and what a person is to be told."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code, []
    if isinstance(error, CliError):
        return error.exit_code, error.problems
    if isinstance(error, click.ClickException):
        return error.exit_code, [_usage(error)]
    if isinstance(error, SpecError):
        return Exit.BAD_INPUT, [str(problem) for problem in error.problems]
    for kinds, code, words in _MEANINGS:
        if isinstance(error, kinds):
            return code, [words.format(error)]
    return Exit.BUG, [_bug(error)]


_MEANINGS: tuple[tuple[tuple[type[Exception], ...], Exit, str], ...] = (
    ((click.exceptions.Abort,), Exit.INTERRUPTED, "interrupted"),
    (_BAD_INPUT, Exit.BAD_INPUT, "{}"),
    ((EmbeddedPostgresError,), Exit.STORE, "the embedded PostgreSQL can't be used: {}"),
    ((psycopg.Error,), Exit.STORE, "the database failed: {}"),
)


def _usage(error: click.ClickException) -> str:
    words = error.format_message()
    context = getattr(error, "ctx", None)
    if context is None:
        return words
    return f"{words.rstrip('.')}. `{context.command_path} --help` shows how to use it"


def _bug(error: Exception) -> str:
    if os.environ.get("SENDONCE_DEBUG"):
        traceback.print_exception(error)
    return f"a bug in sendonce: {type(error).__name__}: {error} (SENDONCE_DEBUG=1 shows where)"


def _close_stdout() -> None:
    """The reader is gone (`| head`): what Python would still flush at its end goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def not_found(what: str) -> NoReturn:
    """End with exit code 4."""
    raise CliError(what, Exit.NOT_FOUND)
