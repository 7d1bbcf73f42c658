"""Options that commands share: which store, which namespace, which form of output."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from sendonce_cli.exits import CliError
from sendonce_store.environment import SettingsError, dsn
from sendonce_store.links import LinkError, check_url

__all__ = ["StoreChoice", "amount", "output_option", "store_options"]

Command = TypeVar("Command", bound=Callable[..., Any])
FORMATS = ("table", "json", "yaml")


def amount(text: str) -> Decimal:
    """Read an amount of money: a number that is not negative, kept exactly. Raises click.BadParameter."""
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite() or found < 0:
        raise click.BadParameter(f"{text!r} is no amount; give a number such as 0.075")
    return found


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """The store that a command works on: `database` is a DSN; without it the embedded server in `data`."""

    database: str | None
    data: Path
    namespace: str

    @property
    def embedded_root(self) -> Path:
        """The embedded server's folder."""
        return self.data / "postgres"

    @property
    def log_folder(self) -> Path:
        """Where workers of local runs write."""
        return self.data / "logs"


def default_data_folder() -> Path:
    """`$XDG_DATA_HOME/sendonce`, by default in the home; for root, whose home nobody else may enter, /var/lib."""
    given = os.environ.get("XDG_DATA_HOME")
    if given:
        return Path(given) / "sendonce"
    if os.geteuid() == 0:
        return Path("/var/lib/sendonce")
    return Path.home() / ".local" / "share" / "sendonce"


def database_from_file() -> str | None:
    """What the file says that SENDONCE_DSN_FILE names, as for operator and worker. Raises CliError."""
    if not os.environ.get("SENDONCE_DSN_FILE"):
        return None
    try:
        return dsn(os.environ)
    except SettingsError as error:
        raise CliError(str(error)) from error


def store_options(command: Command) -> Command:
    """Add --database, --data and --namespace; the command gets them as one `store`, a StoreChoice."""

    @wraps(command)
    def with_store(database: str | None, data: Path | None, namespace: str, **rest: object) -> object:
        choice = StoreChoice(database or database_from_file(), (data or default_data_folder()).absolute(), namespace)
        return command(store=choice, **rest)

    options = (
        click.option(
            "--database",
            metavar="DSN",
            envvar="SENDONCE_DATABASE",
            show_envvar=True,
            help="PostgreSQL to use, such as postgresql://user@host/sendonce. Default: an embedded one.",
        ),
        click.option(
            "--data",
            type=click.Path(file_okay=False, path_type=Path),
            envvar="SENDONCE_DATA",
            show_envvar=True,
            help="Folder of the embedded PostgreSQL and of logs. Default: $XDG_DATA_HOME/sendonce.",
        ),
        click.option(
            "-n",
            "--namespace",
            default="default",
            envvar="SENDONCE_NAMESPACE",
            show_default=True,
            help="Namespace of the campaign.",
        ),
    )
    for option in reversed(options):
        with_store = option(with_store)
    return with_store  # type: ignore[return-value]  # click decorates functions in place


def gateway_option(command: Command) -> Command:
    """Add --gateway; the command gets it checked."""

    def checked(_context: click.Context, _parameter: click.Parameter, url: str | None) -> str | None:
        try:
            return check_url(url) if url else None
        except LinkError as error:
            raise click.BadParameter(str(error)) from error

    option = click.option(
        "--gateway",
        metavar="URL",
        envvar="SENDONCE_GATEWAY_URL",
        show_envvar=True,
        callback=checked,
        help="Where people reach the public gateway: for unsubscribe_url, preferences_url and List-Unsubscribe.",
    )
    return option(command)


def output_option(command: Command) -> Command:
    """Add -o/--output."""
    option = click.option(
        "-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True, help="Form of the output."
    )
    return option(command)


def campaign_argument(command: Command) -> Command:
    """Add the argument CAMPAIGN, completed by the shell."""
    return click.argument("campaign", metavar="CAMPAIGN", shell_complete=complete)(command)


def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """The names of campaigns, for the shell."""
    from sendonce_cli.completing import complete_campaign  # noqa: PLC0415 - it opens stores, which need these options

    return complete_campaign(context, parameter, typed)
