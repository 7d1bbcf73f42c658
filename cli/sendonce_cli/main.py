"""`sendonce`: the table of its commands.

A command is a module of `commands/`, imported when it is used; what it prints is decided in pure functions, and every
error ends in `program.py`.
"""

from __future__ import annotations

import click

from sendonce_cli.program import Program
from sendonce_store import loading

__all__ = ["cli", "main"]

COMMANDS = {
    "run": "sendonce_cli.commands.run:run_command",
    "preview": "sendonce_cli.commands.preview:preview_command",
    "status": "sendonce_cli.commands.status:status_command",
    "recipients": "sendonce_cli.commands.deliveries:recipients_command",
    "show": "sendonce_cli.commands.show:show_command",
    "deadletters": "sendonce_cli.commands.deliveries:deadletters_command",
    "rejects": "sendonce_cli.commands.deliveries:rejects_command",
    "proof": "sendonce_cli.commands.proof:proof_command",
    "console": "sendonce_cli.commands.console:console_command",
    "retry": "sendonce_cli.commands.levers:retry_command",
    "resolve": "sendonce_cli.commands.levers:resolve_command",
    "promote": "sendonce_cli.commands.levers:promote_command",
    "resume": "sendonce_cli.commands.levers:resume_command",
    "suspend": "sendonce_cli.commands.levers:suspend_command",
    "close": "sendonce_cli.commands.levers:close_command",
    "cancel": "sendonce_cli.commands.levers:cancel_command",
    "suppress": "sendonce_cli.commands.suppress:suppress_group",
    "simulate": "sendonce_cli.simulate.command:simulate_command",
    "tenant": "sendonce_cli.commands.tenant:tenant_group",
    "gateway": "sendonce_cli.commands.gateway:gateway_group",
    "migrate": "sendonce_cli.commands.upkeep:migrate_command",
    "restored": "sendonce_cli.commands.restored:restored_command",
    "purge": "sendonce_cli.commands.upkeep:purge_command",
    "chart": "sendonce_cli.chart.command:chart_group",
    "completion": "sendonce_cli.commands.upkeep:completion_command",
}


@click.group(cls=Program, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sendonce", prog_name="sendonce")
def cli() -> None:
    """Send notification campaigns so that every recipient is handed to the provider once.

    The store is a PostgreSQL database (--database, or SENDONCE_DATABASE), by default an embedded
    one in your data folder.
    """


def main() -> None:
    """Run the program; the exit codes are those of `exits.Exit`."""
    loading.begin()
    cli(prog_name="sendonce")


if __name__ == "__main__":
    main()
