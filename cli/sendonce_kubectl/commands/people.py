"""`kubectl campaign recipients` and `deadletters`: who was and was not sent to, from the console."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from sendonce_kubectl.console import Console, campaign_path, open_console
from sendonce_kubectl.failing import Exit, tell
from sendonce_kubectl.kubectl import Kubectl
from sendonce_kubectl.options import (
    People,
    campaign_argument,
    cluster_options,
    console_options,
    output_option,
    plain_name,
)
from sendonce_kubectl.showing import emit, moment, table

__all__ = ["CAMPAIGN_RIGHTS", "RIGHTS", "deadletters_command", "recipients_command"]

Command = TypeVar("Command", bound=Callable[..., Any])
STATES = ("pending", "sending", "sent", "failed", "uncertain", "suppressed", "expired", "cancelled")
PAGE = 500
RIGHTS = "Rights: get notificationcampaigns/recipients (ClusterRole sendonce-recipients)."
CAMPAIGN_RIGHTS = "Rights: get notificationcampaigns (ClusterRole sendonce-viewer, part of view)."


def filter_options(command: Command) -> Command:
    """Add --state, --reason, --code and --channel."""
    options = (
        click.option(
            "--state", "state", multiple=True, type=click.Choice(STATES, case_sensitive=False),
            help="Several times: any.",
        ),
        click.option("--reason", "reason", multiple=True, metavar="REASON", help="Such as RetriesExhausted."),
        click.option("--code", "code", multiple=True, metavar="CODE", help="The far end's code, such as 5.1.1."),
        click.option("--channel", "channel", multiple=True, metavar="CHANNEL", help="Such as Email."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


_RECIPIENTS = f"""\b
Examples:
  kubectl campaign recipients spring --state failed
  kubectl campaign recipients spring --limit 5000 -o json
  kubectl campaign recipients spring --after PLACE

\b
{RIGHTS}
"""


@click.command("recipients", epilog=_RECIPIENTS)
@campaign_argument()
@filter_options
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@click.option("--after", metavar="PLACE", help="Go on behind this place, as the list before gave it.")
@console_options
@cluster_options
@output_option()
def recipients_command(  # noqa: PLR0913 - one parameter per option
    *,
    campaign: str,
    limit: int,
    after: str | None,
    people: People,
    kubectl: Kubectl,
    output: str | None,
    **filters: Any,  # noqa: ANN401 - click's values
) -> int:
    """List deliveries: who, over which channel, in which state and why."""
    chosen = {name: [_word(name, one) for one in values] for name, values in filters.items() if values}
    with open_console(kubectl, people.choice, people.token) as console:
        path = campaign_path(console.namespace, plain_name(campaign), "recipients")
        found, place = _pages(console, path, chosen, limit, after)
    emit(output, {"items": found, "next": place}, lambda: _listing(found, wide=output == "wide"), "recipient")
    if place:
        tell(f"there is more: --after {place}")
    return Exit.OK


def _word(name: str, value: str) -> str:
    """`RetriesExhausted` → `retries_exhausted`, as the ledger has it; other filters as they are."""
    if name != "reason":
        return value
    return "".join(f"_{letter}" if letter.isupper() and no else letter for no, letter in enumerate(value)).lower()


def _pages(
    console: Console, path: str, chosen: Mapping[str, object], limit: int, after: str | None
) -> tuple[list[Mapping[str, Any]], str | None]:
    """Page by page, and the place behind the last one; None where nothing follows."""
    found: list[Mapping[str, Any]] = []
    while True:
        query = {**chosen, "limit": min(PAGE, limit - len(found))} | ({"after": after} if after else {})
        page, before = console.get(path, query), after
        found, after = found + page["items"], page.get("next")
        # a page may be empty and have a next: nothing was found so far
        if not after or after == before or len(found) >= limit:
            return found, after


def _listing(found: Sequence[Mapping[str, Any]], *, wide: bool) -> str:
    if not found:
        return "No deliveries found."
    titles = ["RECIPIENT", "CHANNEL", "ADDRESS", "STATE", "REASON", "CODE", "ATTEMPTS", "UPDATED"]
    rows = [
        [one.get("recipient"), one.get("channel"), one.get("address"), one.get("state"), one.get("reason"),
         one.get("code"), one.get("attempts"), moment(one.get("updated"))]
        for one in found
    ]  # fmt: skip
    if not wide:
        return table(titles, rows)
    more = [[one.get("provider"), one.get("messageId"), one.get("message")] for one in found]
    return table([*titles, "PROVIDER", "MESSAGEID", "MESSAGE"], [a + b for a, b in zip(rows, more, strict=True)])


_DEADLETTERS = f"""\b
Examples:
  kubectl campaign deadletters spring
  kubectl campaign recipients spring --state failed --reason Permanent     each of them

\b
{CAMPAIGN_RIGHTS} Addresses in the far end's words are masked without the right to people.
"""


@click.command("deadletters", epilog=_DEADLETTERS)
@campaign_argument()
@console_options
@cluster_options
@output_option("wide", "json", "yaml")
def deadletters_command(*, campaign: str, people: People, kubectl: Kubectl, output: str | None) -> int:
    """Count what will not be tried again without a person, by reason and the far end's code."""
    name = plain_name(campaign)
    with open_console(kubectl, people.choice, people.token) as console:
        answer = console.get(campaign_path(console.namespace, name, "deadletters"))
    emit(output, answer, lambda: _groups(answer, name))
    return Exit.OK


def _groups(answer: Mapping[str, Any], name: str) -> str:
    found = answer["items"]
    if not found:
        return "No dead letters."
    rows = [
        [one.get("count"), one.get("state"), one.get("channel"), one.get("reason"), one.get("code"), one.get("example"),
         one.get("message")]
        for one in found
    ]  # fmt: skip
    shown = [table(["COUNT", "STATE", "CHANNEL", "REASON", "CODE", "FOR EXAMPLE", "THE FAR END SAID"], rows), ""]
    if answer.get("counted", 0) < answer.get("total", 0):
        shown.append(f"counted are {answer['counted']:,} of {answer['total']:,}")
    states = {one.get("state") for one in found}
    if "failed" in states:
        shown.append(f"failed: `kubectl campaign retry {name}`")
    if "uncertain" in states:
        shown.append(f"uncertain: `kubectl campaign resolve {name} --as sent|failed|resend`")
    return "\n".join(shown)
