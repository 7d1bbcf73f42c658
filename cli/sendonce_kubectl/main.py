"""`kubectl campaign`: the table of its commands, and the one place where errors end.

A command is a module of `commands/`, imported when it is used. kubectl finds the program by its name,
`kubectl-campaign`.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module

import click

from sendonce_kubectl.failing import Exit, PluginError
from sendonce_kubectl.version import VERSION

__all__ = ["COMMANDS", "cli", "complete", "main"]

COMMANDS = {
    "status": "sendonce_kubectl.commands.status:status_command",
    "recipients": "sendonce_kubectl.commands.people:recipients_command",
    "show": "sendonce_kubectl.commands.show:show_command",
    "deadletters": "sendonce_kubectl.commands.people:deadletters_command",
    "retry": "sendonce_kubectl.commands.levers:retry_command",
    "resolve": "sendonce_kubectl.commands.levers:resolve_command",
    "promote": "sendonce_kubectl.commands.levers:promote_command",
    "suspend": "sendonce_kubectl.commands.wishes:suspend_command",
    "resume": "sendonce_kubectl.commands.wishes:resume_command",
    "cancel": "sendonce_kubectl.commands.wishes:cancel_command",
    "preview": "sendonce_kubectl.commands.files:preview_command",
    "proof": "sendonce_kubectl.commands.files:proof_command",
    "completion": "sendonce_kubectl.commands.files:completion_command",
}


class Program(click.Group):
    """The group of all commands, in the order in which people need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Not by the alphabet."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="kubectl campaign")
def cli() -> None:
    """Look at notification campaigns, and decide about them, from kubectl.

    Campaigns and orders go through the API server, under your own rights. What is about single people comes
    from Sendonce's console, with your own token.
    """


def main() -> None:
    """Run the program; the exit codes are those of `failing.Exit`."""
    if sys.argv[1:2] == ["__complete"]:
        del sys.argv[1]
        complete()
        return
    sys.exit(guarded(lambda: cli.main(prog_name="kubectl campaign", standalone_mode=False)))


def complete() -> None:
    """Answer kubectl's question for what could come next (`kubectl_complete-campaign WORDS… BEGUN`)."""
    from sendonce_kubectl.completing import answer  # noqa: PLC0415 - of this call alone

    click.echo(answer(cli, sys.argv[1:]))


def guarded(command: Callable[[], object]) -> int:
    """Run it; every error becomes lines on standard error and an exit code."""
    try:
        result = command()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except (click.exceptions.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except click.exceptions.Exit as error:
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - this is the boundary
        code, problems = explained(error)
        for problem in problems:
            click.echo(f"error: {' '.join(problem.split())}", err=True)
        return code
    return result if isinstance(result, int) else Exit.OK


def explained(error: Exception) -> tuple[int, list[str]]:
    """The exit code of an error, and what a person is to be told."""
    if isinstance(error, PluginError):
        return error.code, error.problems
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        hint = f". `{context.command_path} --help` shows how to use it" if context is not None else ""
        return Exit.BAD_INPUT, [error.format_message().rstrip(".") + hint]
    if os.environ.get("SENDONCE_DEBUG"):
        traceback.print_exception(error)
    return Exit.BUG, [f"a bug in kubectl-campaign: {type(error).__name__}: {error} (SENDONCE_DEBUG=1 shows where)"]


if __name__ == "__main__":
    main()
