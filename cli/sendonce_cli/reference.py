"""docs/cli.md, written from the commands' own help: `python -m sendonce_cli.reference > docs/cli.md`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from sendonce_cli.exits import __doc__ as exit_codes
from sendonce_cli.main import cli

__all__ = ["reference"]

WIDTH = 100


def reference() -> str:
    """The whole page."""
    blocks = [
        "# Commands",
        "Written by `python -m sendonce_cli.reference > docs/cli.md` from the commands' own help.",
        "## Exit codes",
        f"```text\n{_exit_codes()}\n```",
        *_sections(_context(cli, "sendonce")),
    ]
    return "\n\n".join(blocks) + "\n"


def _exit_codes() -> str:
    lines = (line.strip() for line in (exit_codes or "").splitlines())
    return "\n".join(line for line in lines if line[:1].isdigit())


def _sections(context: click.Context) -> Iterator[str]:
    yield f"## {context.command_path}"
    yield f"```text\n{context.get_help().rstrip()}\n```"
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None:
                yield from _sections(_context(command, name, context))


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    width = {"max_content_width": WIDTH, "terminal_width": WIDTH}
    return click.Context(command, info_name=name, parent=parent, **{**command.context_settings, **width})


if __name__ == "__main__":
    click.echo(reference(), nl=False)
