"""`kubectl campaign retry`, `resolve` and `promote`: orders to a campaign, each a NotificationAction."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from sendonce_kubectl.failing import Exit, PluginError, tell
from sendonce_kubectl.kubectl import Kubectl, KubectlError, Object
from sendonce_kubectl.options import campaign_argument, cluster_options, output_option, plain_name
from sendonce_kubectl.orders import RETRIABLE, Selection, action, signed
from sendonce_kubectl.showing import clean, emit, field, names
from sendonce_kubectl.waiting import give, outcome, wait_for

__all__ = [
    "Ordering",
    "confirm",
    "lever_options",
    "order",
    "print_object",
    "promote_command",
    "resolve_command",
    "retry_command",
]

Command = TypeVar("Command", bound=Callable[..., Any])
KIND = "notificationaction.sendonce.dev"
RESOURCE = "notificationcampaigns.sendonce.dev"
RIGHTS = "Rights: get notificationcampaigns; create, get and watch notificationactions (ClusterRole sendonce-editor)."
RISK = (
    "Resend can reach a person twice: the first message may have been taken. Deliveries go out again as soon as the "
    "earlier attempt is certain to have ended."
)


class Ordering:
    """How an order is given: under which name, for real or not, how long it is waited for, how it is told."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - click's values
        """Takes what `lever_options` adds."""
        self.name: str | None = given.get("name")
        self.dry_run: str = given["dry_run"]
        self.seconds: float = given["timeout"] if given["wait"] else 0.0
        self.output: str | None = given["output"]


def lever_options(command: Command) -> Command:
    """Add --dry-run, --wait, --timeout, --output and what says which cluster."""
    options = (
        click.option(
            "--dry-run", type=click.Choice(["none", "server", "client"]), default="none", show_default=True,
            help="client: only print what would be ordered. server: have the API server check it, too.",
        ),
        click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until it is done."),
        click.option(
            "--timeout", type=click.FloatRange(0.1), default=120.0, show_default=True, metavar="SECONDS",
            help="Wait so long at most.",
        ),
        cluster_options,
        output_option("json", "yaml", "name"),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def selection_options(command: Command) -> Command:
    """Add --reason, --code, --channel, --recipient, --limit and --name."""
    options = (
        click.option("--reason", "reasons", multiple=True, metavar="REASON", help="Such as RetriesExhausted."),
        click.option("--code", "codes", multiple=True, metavar="CODE", help="The far end's code, such as 5.1.1."),
        click.option("--channel", "channels", multiple=True, metavar="CHANNEL", help="Such as Email."),
        click.option(
            "--recipient", "recipients", multiple=True, metavar="ID", help="One person, by the id that you gave them."
        ),
        click.option("--limit", type=click.IntRange(1), help="At most so many."),
        name_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


def name_option(command: Command) -> Command:
    """Add --name."""
    text = "Name of the order. Default: the same for the same order, while the campaign stands as it does."
    return click.option("--name", metavar="NAME", help=text)(command)


_RETRY = f"""\b
Opens deliveries again that failed (or --state Expired, Cancelled, Suppressed); the workers send
them. Of what was suppressed, consent, time zone and frequency cap are asked for again. Uncertain
ones need `kubectl campaign resolve`.

\b
Examples:
  kubectl campaign retry spring
  kubectl campaign retry spring --reason RetriesExhausted --channel Email
  kubectl campaign retry spring --recipient customer-4711
  kubectl campaign retry spring --code 4.2.2 --limit 500 --dry-run=server -o yaml

\b
{RIGHTS}
"""


@click.command("retry", epilog=_RETRY)
@campaign_argument()
@click.option(
    "--state", "states", multiple=True, type=click.Choice(RETRIABLE, case_sensitive=False), help="Default: Failed."
)
@selection_options
@lever_options
def retry_command(*, campaign: str, kubectl: Kubectl, **given: Any) -> int:  # noqa: ANN401 - click's values
    """Try dead letters again."""
    chosen = selection(given).document()
    return order(kubectl, campaign, "Retry", Ordering(**given), deliveries=chosen)


_RESOLVE = f"""\b
Uncertain deliveries were handed off, and nobody knows whether they were taken. Look into the far
end's own records, then say what became of them: sent, failed, or resend, which may reach a person
twice.

\b
Examples:
  kubectl campaign resolve spring --as sent
  kubectl campaign resolve spring --as failed --recipient customer-4711
  kubectl campaign resolve spring --as resend --yes

\b
{RIGHTS}
"""


@click.command("resolve", epilog=_RESOLVE)
@campaign_argument()
@click.option("--as", "resolve_as", required=True, type=click.Choice(["sent", "failed", "resend"]))
@selection_options
@click.option("-y", "--yes", is_flag=True, help="With resend: take the risk without being asked.")
@lever_options
def resolve_command(
    *,
    campaign: str,
    resolve_as: str,
    yes: bool,
    kubectl: Kubectl,
    **given: Any,  # noqa: ANN401 - click's values
) -> int:
    """Say what became of uncertain deliveries, or send them again."""
    ordering = Ordering(**given)
    if resolve_as == "resend" and not yes and ordering.dry_run == "none":
        confirm(f"--as resend: {RISK}", "Send them again?")
    chosen = selection(given).document()
    return order(kubectl, campaign, "Resolve", ordering, resolveAs=resolve_as.capitalize(), deliveries=chosen)


_PROMOTE = f"\b\nExample:\n  kubectl campaign promote spring\n\n\b\n{RIGHTS}\n"


@click.command("promote", epilog=_PROMOTE)
@campaign_argument()
@name_option
@lever_options
def promote_command(*, campaign: str, kubectl: Kubectl, **given: Any) -> int:  # noqa: ANN401 - click's values
    """Let the rest follow the canary."""
    return order(kubectl, campaign, "Promote", Ordering(**given))


def selection(given: dict[str, Any]) -> Selection:
    """What the options select."""
    names_ = ("states", "reasons", "codes", "channels", "recipients", "limit")
    return Selection(**{name: given.get(name) or () for name in names_[:-1]}, limit=given.get("limit"))


def confirm(risk: str, question: str) -> None:
    """Ask on a terminal; elsewhere --yes must have been given. Raises PluginError."""
    if not sys.stdin.isatty():
        raise PluginError(f"{risk} Say --yes to order it")
    tell(risk)
    click.confirm(question, abort=True, err=True)


def order(kubectl: Kubectl, campaign: str, kind: str, ordering: Ordering, **spec: Any) -> int:  # noqa: ANN401 - JSON
    """Give an order, wait for it and say what it did. Raises PluginError."""
    found = kubectl.json("get", RESOURCE, plain_name(campaign), "--output=json")
    wanted = action(found, kind, name=ordering.name, **spec)
    if ordering.dry_run == "client":
        return _tell(wanted, ordering, "would be created (dry run)")
    given, new = give(kubectl, signed(wanted, kubectl.who()), dry_run=ordering.dry_run == "server")
    if ordering.dry_run == "server":
        return _tell(
            given, ordering, "would be created (server dry run)" if new else "is there already (server dry run)"
        )
    if not ordering.seconds:
        return _tell(given, ordering, "created" if new else "was ordered before")
    return _told_in_the_end(kubectl, given, ordering, new=new)


def _told_in_the_end(kubectl: Kubectl, given: Object, ordering: Ordering, *, new: bool) -> int:
    try:
        done = wait_for(kubectl, given, ordering.seconds)
    except KubectlError as error:
        if error.code is not Exit.NO_RIGHT:
            raise
        tell(f"the order stands, and what it does can't be seen: {error}")
        return _tell(given, ordering, "created" if new else "was ordered before")
    words = outcome(done)
    if new:
        return _tell(done, ordering, f"applied: {words}")
    when = field(done, "status.completionTime", "before")
    same = f"ordered before, applied {when}: {words}. The campaign has not changed since; --name NAME orders it anew"
    return _tell(done, ordering, same)


def _tell(found: Object, ordering: Ordering, words: str) -> int:
    return print_object(found, KIND, ordering.output, words)


def print_object(found: Object, kind: str, output: str | None, words: str) -> int:
    """Print an object that was changed: itself, its name, or its name and what became of it."""
    emit(output, found, lambda: f"{names(found, kind)[0]} {clean(words)}", kind)
    return Exit.OK
