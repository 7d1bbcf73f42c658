"""`sendonce`: the table of its commands.

A command is a module of `commands/`; what it prints is decided in pure functions, and every error ends in `program.py`.
"""

from __future__ import annotations

from importlib.metadata import version

import click

from sendonce_cli.commands.deliveries import deadletters_command, recipients_command, rejects_command
from sendonce_cli.commands.levers import (
    cancel_command,
    promote_command,
    resolve_command,
    resume_command,
    retry_command,
    suspend_command,
)
from sendonce_cli.commands.preview import preview_command
from sendonce_cli.commands.run import run_command
from sendonce_cli.commands.show import show_command
from sendonce_cli.commands.status import status_command
from sendonce_cli.commands.suppress import suppress_group
from sendonce_cli.commands.upkeep import completion_command, migrate_command, purge_command
from sendonce_cli.program import Program
from sendonce_cli.simulate.command import simulate_command

__all__ = ["cli", "main"]


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("sendonce"), prog_name="sendonce")
def cli() -> None:
    """Send notification campaigns so that every recipient is handed to the provider once.

    The store is a PostgreSQL database (--database, or SENDONCE_DATABASE), by default an embedded
    one in your data folder.
    """


for command in (
    run_command,
    preview_command,
    status_command,
    recipients_command,
    show_command,
    deadletters_command,
    rejects_command,
    retry_command,
    resolve_command,
    promote_command,
    resume_command,
    suspend_command,
    cancel_command,
    suppress_group,
    simulate_command,
    migrate_command,
    purge_command,
    completion_command,
):
    cli.add_command(command)


def main() -> None:
    """Run the program; the exit codes are those of `exits.Exit`."""
    cli(prog_name="sendonce")


if __name__ == "__main__":
    main()
