"""`sendonce gateway`: what the public gateway needs of the store: its login, keys of links, tokens of applications."""

from __future__ import annotations

import os
from pathlib import Path

import click
import yaml
from rich.text import Text

from sendonce_cli.commands.tenant import (
    check_file,
    database_option,
    password_option,
    reachable,
    read_password,
    run,
    secret_options,
)
from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import output_option
from sendonce_cli.output import emit, table
from sendonce_store import gateway_tokens, links, tenancy

__all__ = ["gateway_group"]

SECRET_NAME, SECRET_KEY = "sendonce-gateway-store", "dsn"


@click.group(
    "gateway",
    epilog="""\b
Examples:
  sendonce gateway login --database postgresql://owner@db/sendonce | kubectl -n sendonce apply -f -
  sendonce gateway token add shop checkout
""",
)
def gateway_group() -> None:
    """The public gateway: its login, the keys of links in messages, tokens of applications.

    --database is the login that owns the store and may make roles. docs/gateway.md has the whole.
    """


# --- its login -------------------------------------------------------------------------------------------------------
@gateway_group.command(
    "login",
    epilog="""\b
Examples:
  sendonce gateway login --database postgresql://owner@db/sendonce | kubectl -n sendonce apply -f -
  sendonce gateway login --address postgresql://db.data.svc:5432/sendonce --write secret.yaml
  sendonce gateway login --password-file /etc/sendonce-login/password     as the chart does

\b
Run it again for another password: sessions that are open go on, so apply the Secret and restart the gateway.
""",
)
@password_option
@secret_options
@database_option
def login_command(*, password_file: Path | None, address: str | None, write: Path | None, database: str) -> int:
    """Make the gateway's login, or give it another password, and print its Secret."""
    if password_file is not None:
        password = read_password(password_file)
        click.echo(f"{run(database, lambda conn: tenancy.gateway_login(conn, password)).role} is there", err=True)
        return Exit.OK
    check_file(write)
    where = reachable(database, address)
    login = run(database, tenancy.gateway_login)
    text = yaml.safe_dump(secret(login.dsn(where)), sort_keys=False)
    if write is None:
        click.echo(text, nl=False)
        return Exit.OK
    with os.fdopen(os.open(write, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    click.echo(f"{write}: Secret {SECRET_NAME}", err=True)
    return Exit.OK


def secret(dsn: str) -> dict[str, object]:
    """The Secret that the gateway's Pods mount, for the namespace of the release."""
    metadata = {"name": SECRET_NAME, "labels": {"app.kubernetes.io/managed-by": "sendonce"}}
    data = {SECRET_KEY: dsn}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "stringData": data}


# --- keys of links ---------------------------------------------------------------------------------------------------
@gateway_group.group("keys")
def keys_group() -> None:
    """The keys under which links in messages are made: one at a time per namespace."""


@keys_group.command("rotate", epilog="\b\nExample:\n  sendonce gateway keys rotate shop")
@click.argument("namespace")
@database_option
def rotate_command(*, namespace: str, database: str) -> int:
    """Let campaigns that begin from now on use another key. Links that were sent stay good."""
    run(database, lambda conn: links.rotate_key(conn, namespace))
    click.echo(f"{namespace}: the next campaign makes another key; links that were sent stay good", err=True)
    return Exit.OK


@keys_group.command(
    "revoke",
    epilog="""\b
Example:
  sendonce gateway keys revoke shop --yes

\b
People who press an unsubscribe link of an earlier message are told that it is no longer good: only for a key that
became known to somebody else.
""",
)
@click.argument("namespace")
@click.option("--yes", is_flag=True, help="Every link that was ever sent for this namespace is to end.")
@database_option
def revoke_command(*, namespace: str, yes: bool, database: str) -> int:
    """End all links of a namespace that were sent so far."""
    if not yes:
        raise CliError("--yes: is needed, as nobody can unsubscribe by the links of earlier messages any more")
    count = run(database, lambda conn: links.revoke_keys(conn, namespace))
    click.echo(f"{namespace}: {count} keys revoked; replicas of the gateway notice within a minute", err=True)
    return Exit.OK


# --- tokens of applications ------------------------------------------------------------------------------------------
@gateway_group.group("token")
def token_group() -> None:
    """Tokens with which applications add recipients to standing campaigns over HTTP."""


@token_group.command(
    "add",
    epilog="""\b
Example:
  sendonce gateway token add shop checkout

\b
Exit codes: 0 made, 2 there is a token of that name.
""",
)
@click.argument("namespace")
@click.argument("name")
@database_option
def add_command(*, namespace: str, name: str, database: str) -> int:
    """Make a token for a namespace's application and print it: the only time that it is shown."""
    click.echo(run(database, lambda conn: gateway_tokens.add(conn, namespace, name)))
    return Exit.OK


@token_group.command("list", epilog="\b\nExample:\n  sendonce gateway token list -o json")
@database_option
@output_option
def list_command(*, database: str, output: str) -> int:
    """List tokens by name."""
    found = run(database, gateway_tokens.tokens)
    rows = [(one.namespace, one.name, one.created_at) for one in found]
    emit(found, output, lambda: table(["NAMESPACE", "NAME", "SINCE"], rows) if rows else Text("none"))
    return Exit.OK


@token_group.command("remove", epilog="\b\nExample:\n  sendonce gateway token remove shop checkout")
@click.argument("namespace")
@click.argument("name")
@database_option
def remove_command(*, namespace: str, name: str, database: str) -> int:
    """Let a token be good for nothing from now on."""
    if not run(database, lambda conn: gateway_tokens.remove(conn, namespace, name)):
        raise CliError(f"{namespace}: there is no token {name}", Exit.NOT_FOUND)
    return Exit.OK
