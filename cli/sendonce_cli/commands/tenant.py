"""`sendonce tenant`: a login of the database per namespace, as the Secret that the workers of the namespace mount."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import click
import yaml
from rich.text import Text

from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import StoreChoice, database_from_file, default_data_folder, output_option
from sendonce_cli.output import emit, table
from sendonce_cli.stores import open_store
from sendonce_store import console_login, tenancy
from sendonce_store.connection import Connection
from sendonce_store.tenancy import Kind, Login, Removed, Tenant

__all__ = ["tenant_group"]

Command = TypeVar("Command", bound=Callable[..., object])
T = TypeVar("T")
SHORTEST_PASSWORD = 16


@click.group(
    "tenant",
    epilog="""\b
Examples:
  sendonce tenant add shop --database postgresql://owner@db/sendonce | kubectl apply -f -
  sendonce tenant list
""",
)
def tenant_group() -> None:
    """Logins of namespaces: the workers of each see the rows of their own namespace only.

    --database is the login that owns the store and may make roles. docs/tenancy.md says what a
    tenant can and can't do.
    """


def _given_or_mounted(context: click.Context, parameter: click.Parameter, given: str | None) -> str:
    """The option, or what is mounted where the chart's Job runs. Raises CliError, MissingParameter."""
    found = given or database_from_file()
    if not found:
        raise click.MissingParameter(ctx=context, param=parameter)
    return found


database_option = click.option(
    "--database",
    metavar="DSN",
    envvar="SENDONCE_DATABASE",
    show_envvar=True,
    callback=_given_or_mounted,
    help="The store, as its owner: postgresql://owner@host/sendonce. Required.",
)


def secret_options(command: Command) -> Command:
    """Add --address and --write."""
    options = (
        click.option(
            "--address",
            metavar="DSN",
            help="The same database as Pods reach it, without user and password. Default: as in --database.",
        ),
        click.option(
            "--write",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write the Secret into a new file that only you can read, not to standard output.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


password_option = click.option(
    "--password-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Give it the password in this file, and print no Secret.",
)
kind_option = click.option(
    "--application",
    "kind",
    flag_value="application",
    default="worker",
    help="A login for applications, which may call sendonce.enqueue and nothing else (docs/applications.md).",
)


def run(database: str, work: Callable[[Connection], Awaitable[T]]) -> T:
    """Do it with a connection to the store."""

    async def connected() -> T:
        async with open_store(StoreChoice(database, default_data_folder(), "default")) as conn:
            return await work(conn)

    return asyncio.run(connected())


def reachable(database: str, address: str | None) -> str:
    """The address for Pods. Raises CliError when nobody but this machine could use it, and TenancyError."""
    if address is not None:
        tenancy.check_address(address)
        return address
    host = str(tenancy.check_address(database).get("host") or "")
    if not host or host.startswith(("/", "@")):
        example = "postgresql://db.example:5432/sendonce"
        raise CliError(f"--address: is needed, as --database is a socket that no Pod can reach: give {example}, say")
    return database


def hand_over(login: Login, address: str, file: Path | None, name: str | None = None) -> None:
    """Print the Secret, or write it into a file."""
    text = yaml.safe_dump(tenancy.secret(login, login.dsn(address), name), sort_keys=False)
    if file is None:
        click.echo(text, nl=False)
        return
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    click.echo(f"{file}: Secret {name or tenancy.SECRET_NAMES[login.kind]} for namespace {login.namespace}", err=True)


def check_file(file: Path | None) -> None:
    """Before a password is made that would be lost. Raises CliError."""
    if file is not None and file.exists():
        raise CliError(f"--write: {file} is there already; name a new file")
    if file is not None and not os.access(file.absolute().parent, os.W_OK):
        raise CliError(f"--write: {file.absolute().parent} is no folder that you can write to")


@tenant_group.command(
    "add",
    epilog="""\b
Examples:
  sendonce tenant add shop --database postgresql://owner@db/sendonce | kubectl apply -f -
  sendonce tenant add shop --application --write application.yaml
  sendonce tenant add shop --address postgresql://db.data.svc:5432/sendonce --write secret.yaml

\b
Exit codes: 0 made, 2 it has a login already, or the login of --database may not make one.
""",
)
@click.argument("namespace")
@kind_option
@secret_options
@database_option
def add_command(*, namespace: str, kind: Kind, address: str | None, write: Path | None, database: str) -> int:
    """Make the login of a namespace and print its Secret: the only time that the password is shown."""
    check_file(write)
    where = reachable(database, address)
    hand_over(run(database, lambda conn: tenancy.add(conn, namespace, kind)), where, write)
    return Exit.OK


@tenant_group.command(
    "rotate",
    epilog="""\b
Examples:
1. sendonce tenant rotate shop | kubectl apply -f -
2. kubectl -n shop rollout restart deployment -l sendonce.dev/campaign
3. sendonce tenant rotate shop --finish

\b
With --now, workers stop at the next statement and come back with the new Secret.
""",
)
@click.argument("namespace")
@click.option("--finish", is_flag=True, help="Lock out every login but the newest, and drop them.")
@click.option("--now", is_flag=True, help="A new login, and lock out the others at once: a password became known.")
@kind_option
@secret_options
@database_option
def rotate_command(  # noqa: PLR0913 - one parameter per option
    *, namespace: str, finish: bool, now: bool, kind: Kind, address: str | None, write: Path | None, database: str
) -> int:
    """Make another login for a namespace and print its Secret; the one before stays good until --finish."""
    if finish and (now or address is not None or write is not None):
        raise CliError("--finish: makes no Secret; leave --now, --address and --write out")
    if not finish:
        check_file(write)
        where = reachable(database, address)
        hand_over(run(database, lambda conn: tenancy.rotate(conn, namespace, kind)), where, write)
    if finish or now:
        tell(run(database, lambda conn: tenancy.retire(conn, namespace, kind)))
    return Exit.OK


@tenant_group.command(
    "console",
    epilog="""\b
It reads, never writes, and sees what its viewers may see. Asked again, it gets another password.

\b
Examples:
  sendonce tenant console --secret-namespace sendonce-system | kubectl apply -f -
  sendonce tenant console --password-file /etc/sendonce-login/password     as the chart does

\b
Exit codes: 0 made, 2 the login of --database may not make one.
""",
)
@click.option("--secret-namespace", default="sendonce-system", show_default=True, help="Namespace of the console.")
@password_option
@secret_options
@database_option
def console_command(
    *, secret_namespace: str, password_file: Path | None, address: str | None, write: Path | None, database: str
) -> int:
    """Make the login of the console and print its Secret, or give it the password of a file."""
    if password_file is not None:
        password = read_password(password_file)
        click.echo(f"{run(database, lambda conn: console_login.make(conn, password)).role} is there", err=True)
        return Exit.OK
    check_file(write)
    where = reachable(database, address)
    login = run(database, console_login.make)
    hand_over(replace(login, namespace=secret_namespace), where, write, console_login.SECRET_NAME)
    return Exit.OK


def read_password(file: Path) -> str:
    """Raises CliError for one that is not there or could be guessed."""
    try:
        password = file.read_text("utf-8").strip()
    except OSError as error:
        raise CliError(f"--password-file: {file} can't be read: {error.strerror}") from error
    if len(password) < SHORTEST_PASSWORD:
        raise CliError(f"--password-file: {file} has {len(password)} characters: give {SHORTEST_PASSWORD} random ones")
    return password


@tenant_group.command(
    "list",
    epilog="""\b
Examples:
  sendonce tenant list --database postgresql://owner@db/sendonce
  sendonce tenant list -o json
""",
)
@database_option
@output_option
def list_command(*, database: str, output: str) -> int:
    """List namespaces with a login."""
    found = run(database, tenancy.tenants)
    columns = ["NAMESPACE", "FOR", "LOGINS", "SINCE", "SESSIONS", "UNFINISHED CAMPAIGNS", "NOT DROPPED"]
    emit(found, output, lambda: table(columns, map(_row, found)) if found else Text("none"))
    return Exit.OK


def _row(tenant: Tenant) -> tuple[object, ...]:
    logins = ", ".join(tenant.logins)
    return (tenant.namespace, tenant.kind, logins, tenant.since, tenant.sessions, tenant.unfinished, tenant.retired)


@tenant_group.command(
    "remove",
    epilog="""\b
Examples:
  sendonce tenant remove shop --database postgresql://owner@db/sendonce

\b
The namespace's campaigns, suppressions and opt-outs stay.

\b
Exit codes: 0 removed, 2 it has campaigns that are not finished, or no login.
""",
)
@click.argument("namespace")
@kind_option
@database_option
def remove_command(*, namespace: str, kind: Kind, database: str) -> int:
    """Lock out a namespace, end its sessions and drop its logins."""
    tell(run(database, lambda conn: tenancy.remove(conn, namespace, kind)))
    return Exit.OK


def tell(removed: Sequence[Removed]) -> None:
    """Say what became of logins; standard output may be a Secret's."""
    for one in removed:
        left = "is dropped" if one.left is None else f"is locked out, but could not be dropped: {one.left}"
        click.echo(f"{one.role} {left}", err=True)
    if not removed:
        click.echo("there was no other login", err=True)
