"""Each example in the help of `sendonce`, and so in docs/cli.md, is one that the program takes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sendonce_cli.main import cli

_EXAMPLE = re.compile(r"^ *(?:\w+=\S+ )?sendonce (?P<arguments>.*)$", re.MULTILINE)
_FILE = re.compile(r"[a-z][a-z-]*(\.[a-z]+)+")
# what follows is a pipe, a redirection, or words about it
_END = re.compile(r"\s{2,}|\s[|>]")


def _commands(command: click.Command, context: click.Context) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, click.Context(found, parent=context, info_name=name))


EXAMPLES = sorted({
    _END.split(found["arguments"])[0]
    for command in _commands(cli, click.Context(cli, **cli.context_settings))
    for found in _EXAMPLE.finditer(command.epilog or "")
})  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_program_takes_it(example: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for file in filter(_FILE.fullmatch, shlex.split(example)):
        (tmp_path / file).touch()
    # those that name no store mean the reader's own
    monkeypatch.setenv("SENDONCE_DATABASE", "postgresql://owner@db.example/sendonce")
    command: click.Command = cli
    context, arguments = click.Context(cli, info_name="sendonce", **cli.context_settings), shlex.split(example)
    while isinstance(command, click.Group):
        name = arguments.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name}"
        command = found
    command.make_context(command.name, arguments, parent=context)


def test_there_are_many() -> None:
    assert len(EXAMPLES) > 50
