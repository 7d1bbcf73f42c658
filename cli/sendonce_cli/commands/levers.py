"""A person's levers on a campaign: `sendonce retry`, `resolve`, `promote`, `resume`, `suspend`, `close`, `cancel`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from rich.text import Text

from sendonce_cli.commands.deliveries import filter_options
from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import StoreChoice, campaign_argument, output_option, store_options
from sendonce_cli.orders import OrderResult, fresh_name, give
from sendonce_cli.output import emit
from sendonce_cli.stores import open_campaign
from sendonce_store import actions
from sendonce_store.actions import RETRIABLE, Order, Selection
from sendonce_store.connection import Connection
from sendonce_store.ordering import snake
from sendonce_store.standing import Overview

__all__ = [
    "cancel_command",
    "close_command",
    "promote_command",
    "resolve_command",
    "resume_command",
    "retry_command",
    "suspend_command",
]

Command = TypeVar("Command", bound=Callable[..., Any])
RISK = (
    "Resend can reach a person twice: the first message may have been taken. Deliveries go out again as soon as the "
    "earlier attempt is certain to have ended."
)


def name_option(command: Command) -> Command:
    """Add --name."""
    text = "Name of the order: the same name again changes nothing. Default: a new one."
    return click.option("--name", metavar="NAME", help=text)(command)


def recipient_option(command: Command) -> Command:
    """Add --recipient."""
    text = "One person, by id or line:N; several times: these. Default: all."
    return click.option("--recipient", "recipients", multiple=True, metavar="ID", help=text)(command)


def selection(  # noqa: PLR0913 - what the options say
    states: Sequence[str],
    reasons: Sequence[str],
    codes: Sequence[str],
    channels: Sequence[str],
    limit: int | None,
    recipients: Sequence[str],
) -> Selection:
    """What the options select."""
    words = [snake(reason) for reason in reasons] or None
    return Selection(list(states), words, list(codes) or None, list(channels) or None, limit, list(recipients) or None)


@click.command(
    "retry",
    epilog="""\b
Opens deliveries again that failed (or --state expired, cancelled, suppressed); run the campaign's
file again to send them. Of what was suppressed, consent, time zone and frequency cap are asked for
again. Uncertain ones need `sendonce resolve`.

\b
Examples:
  sendonce retry spring
  sendonce retry spring --reason RetriesExhausted --channel Email
  sendonce retry spring --code 4.2.2 --limit 500 --name retry-full-mailboxes
  sendonce retry spring --state suppressed --reason FrequencyCap
  sendonce retry spring --recipient customer-4711
""",
)
@campaign_argument
@click.option("--state", "states", multiple=True, type=click.Choice(RETRIABLE), help="Default: failed.")
@filter_options
@recipient_option
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@name_option
@store_options
@output_option
def retry_command(  # noqa: PLR0913 - one parameter per option
    *,
    campaign: str,
    states: tuple[str, ...],
    reasons: tuple[str, ...],
    codes: tuple[str, ...],
    channels: tuple[str, ...],
    recipients: tuple[str, ...],
    limit: int | None,
    name: str | None,
    store: StoreChoice,
    output: str,
) -> int:
    """Try dead letters again."""
    chosen = selection(states or ("failed",), reasons, codes, channels, limit, recipients)
    return _order(store, campaign, Order(name or fresh_name("Retry"), "Retry", chosen), output)


@click.command(
    "resolve",
    epilog="""\b
Uncertain deliveries were handed off, and nobody knows whether they were taken. Look into the far
end's own records, then say what became of them: sent, failed, or resend, which may reach a person
twice.

\b
Examples:
  sendonce resolve spring --as sent
  sendonce resolve spring --as failed --channel Email
  sendonce resolve spring --as sent --recipient line:12
  sendonce resolve spring --as resend --yes
""",
)
@campaign_argument
@click.option("--as", "resolve_as", required=True, type=click.Choice(["sent", "failed", "resend"]))
@filter_options
@recipient_option
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("-y", "--yes", is_flag=True, help="With resend: take the risk without being asked.")
@name_option
@store_options
@output_option
def resolve_command(  # noqa: PLR0913 - one parameter per option
    *,
    campaign: str,
    resolve_as: str,
    reasons: tuple[str, ...],
    codes: tuple[str, ...],
    channels: tuple[str, ...],
    recipients: tuple[str, ...],
    limit: int | None,
    yes: bool,
    name: str | None,
    store: StoreChoice,
    output: str,
) -> int:
    """Say what became of uncertain deliveries, or send them again."""
    if resolve_as == "resend" and not yes:
        confirm_risk()
    chosen = selection(("uncertain",), reasons, codes, channels, limit, recipients)
    return _order(store, campaign, Order(name or fresh_name("Resolve"), "Resolve", chosen, resolve_as), output)


def confirm_risk() -> None:
    """Ask on a terminal; elsewhere --yes must have been given. Raises CliError."""
    if not sys.stdin.isatty():
        raise CliError(f"--as resend: {RISK} Say --yes to order it")
    click.echo(RISK, err=True)
    click.confirm("Send them again?", abort=True, err=True)


@click.command("promote", epilog="\b\nExample:\n  sendonce promote spring")
@campaign_argument
@name_option
@store_options
@output_option
def promote_command(*, campaign: str, name: str | None, store: StoreChoice, output: str) -> int:
    """Let the rest follow the canary."""
    return _order(store, campaign, Order(name or fresh_name("Promote"), "Promote"), output)


@click.command("resume", epilog="\b\nExample:\n  sendonce resume spring")
@campaign_argument
@name_option
@store_options
@output_option
def resume_command(*, campaign: str, name: str | None, store: StoreChoice, output: str) -> int:
    """Go on with a campaign that was suspended, or stopped by an error; the failure threshold counts anew."""

    async def resume(conn: Connection, found: Overview) -> OrderResult:
        if found.suspended:
            await actions.suspend(conn, found.id, suspended=False)
        result = await give(conn, found, Order(name or fresh_name("Resume"), "Resume"))
        if found.suspended and found.halt_reason is None:
            return OrderResult(result.name, "Resume", found.send_key, 0, 0, "resumed", again=False)
        return result

    return _pull(store, campaign, resume, output)


@click.command("suspend", epilog="\b\nExample:\n  sendonce suspend spring")
@campaign_argument
@store_options
@output_option
def suspend_command(*, campaign: str, store: StoreChoice, output: str) -> int:
    """Stop handing off; what is in flight is finished. `sendonce resume` goes on."""

    async def suspend(conn: Connection, found: Overview) -> OrderResult:
        if found.ended is not None:
            return OrderResult("", "Suspend", found.send_key, 0, 0, f"it has ended: {found.ended_reason}", again=False)
        await actions.suspend(conn, found.id, suspended=True)
        return OrderResult("", "Suspend", found.send_key, 0, 0, "suspended", again=False)

    return _pull(store, campaign, suspend, output)


@click.command("close", epilog="\b\nExample:\n  sendonce close orders-2026-12")
@campaign_argument
@store_options
@output_option
def close_command(*, campaign: str, store: StoreChoice, output: str) -> int:
    """Let nobody be added to a campaign with recipients.stream: it ends when everybody has been sent to."""

    async def close(conn: Connection, found: Overview) -> OrderResult:
        closed = await actions.close(conn, found.id)
        message = "closed" if closed else "nothing to close: it has ended, or its recipients do not come as a stream"
        return OrderResult("", "Close", found.send_key, 0, 0, message, again=False)

    return _pull(store, campaign, close, output)


@click.command("cancel", epilog="\b\nExample:\n  sendonce cancel spring")
@campaign_argument
@store_options
@output_option
def cancel_command(*, campaign: str, store: StoreChoice, output: str) -> int:
    """End a campaign: what has not been handed off will not be. `sendonce retry --state cancelled` opens it again."""

    async def cancel(conn: Connection, found: Overview) -> OrderResult:
        if found.ended is not None:
            return OrderResult("", "Cancel", found.send_key, 0, 0, f"it has ended: {found.ended_reason}", again=False)
        changed = await actions.cancel(conn, found.id)
        return OrderResult(
            "", "Cancel", found.send_key, changed, changed, f"{changed} deliveries cancelled", again=False
        )

    return _pull(store, campaign, cancel, output)


def _order(store: StoreChoice, campaign: str, order: Order, output: str) -> int:
    return _pull(store, campaign, lambda conn, found: give(conn, found, order), output)


def _pull(store: StoreChoice, campaign: str, lever: Callable[[Connection, Overview], Any], output: str) -> int:
    async def pull() -> OrderResult:
        async with open_campaign(store, campaign) as (conn, found):
            result: OrderResult = await lever(conn, found)
            return result

    result = asyncio.run(pull())
    emit(result, output, lambda: Text(str(result)))
    return Exit.OK
