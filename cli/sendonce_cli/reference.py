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
        f"```\n{_exit_codes()}\n```",
        *_sections(click.Context(cli, info_name="sendonce", max_content_width=WIDTH, terminal_width=WIDTH)),
    ]
    return "\n\n".join(blocks) + "\n"


def _exit_codes() -> str:
    lines = (exit_codes or "").splitlines()
    return "\n".join(line.strip() for line in lines if line.startswith("    "))


def _sections(context: click.Context) -> Iterator[str]:
    yield f"## {context.command_path}"
    yield f"```\n{context.get_help().rstrip()}\n```"
    if isinstance(context.command, click.Group):
        for name, command in context.command.commands.items():
            yield from _sections(
                click.Context(command, info_name=name, parent=context, max_content_width=WIDTH, terminal_width=WIDTH)
            )


if __name__ == "__main__":
    click.echo(reference(), nl=False)
