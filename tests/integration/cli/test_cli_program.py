"""The program as a whole: help, reference, completion, exit codes of errors."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import click
import psycopg
import pytest

from sendonce_cli.embedded_binaries import EmbeddedPostgresError
from sendonce_cli.exits import CliError, Exit
from sendonce_cli.main import COMMANDS, cli
from sendonce_cli.program import explained
from sendonce_cli.reference import reference
from sendonce_store.connection import Connection
from sendonce_store.spec import Problem, SpecError

Sendonce = Callable[..., Awaitable[Any]]
ROOT = Path(__file__).parents[3]


def test_the_reference_says_what_the_help_says() -> None:
    written = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert written == reference(), "write it anew: python -m sendonce_cli.reference > docs/cli.md"


def _leaves(command: click.Command) -> Iterator[click.Command]:
    """The commands that do something, in groups of groups too."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            yield from _leaves(one)
    else:
        yield command


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_examples(name: str) -> None:
    context = click.Context(cli, info_name="sendonce", **cli.context_settings)
    command = cli.get_command(context, name)
    assert command is not None
    for one in _leaves(command):
        assert one.help
        assert "Example" in (one.epilog or ""), one.name


async def test_help_lists_the_commands_in_the_order_of_their_use(sendonce: Sendonce) -> None:
    ran = await sendonce("--help")
    assert ran.code == 0
    assert ran.out.index("  run ") < ran.out.index("  preview ") < ran.out.index("  status ")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
async def test_completion_prints_a_script(sendonce: Sendonce, shell: str) -> None:
    ran = await sendonce("completion", shell)
    assert ran.code == 0
    assert "_SENDONCE_COMPLETE" in ran.out


async def test_completion_knows_campaigns(sendonce: Sendonce, sow: Any, document: Any) -> None:
    await sow([], document=document("spring"))
    await sow([], document=document("autumn"))
    environment = {
        **os.environ, "_SENDONCE_COMPLETE": "zsh_complete", "COMP_WORDS": "sendonce status sp", "COMP_CWORD": "2",
    }  # fmt: skip
    command = [sys.executable, "-m", "sendonce_cli.main"]
    found = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, check=False
    )
    assert "spring" in found.stdout
    assert "autumn" not in found.stdout


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (CliError("a", Exit.CONFLICT), 5, ["a"]),
        (CliError(["a", "b"]), 2, ["a", "b"]),
        (SpecError([Problem("f", 1, 3, "spec.x", "is wrong")]), 2, ["f:3: spec.x: is wrong"]),
        (psycopg.OperationalError("gone"), 3, ["the database failed: gone"]),
        (EmbeddedPostgresError("no disk"), 3, ["the embedded PostgreSQL can't be used: no disk"]),
        (click.exceptions.Abort(), 130, ["interrupted"]),
        (click.exceptions.Exit(7), 7, []),
        (KeyError("x"), 70, ["a bug in sendonce: KeyError: 'x' (SENDONCE_DEBUG=1 shows where)"]),
    ],
)
def test_every_error_has_an_exit_code_and_words(error: Exception, code: int, words: list[str]) -> None:
    assert explained(error) == (code, words)


async def test_a_reader_that_goes_away_is_no_error(sow: Any, dsn: str, document: Any, conn: Connection) -> None:
    await sow([], document=document("spring"))
    command = f"{sys.executable} -m sendonce_cli.main status --database '{dsn}' -o json | head -c 1"
    shell = ["/bin/bash", "-o", "pipefail", "-c", command]
    found = await asyncio.to_thread(subprocess.run, shell, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
