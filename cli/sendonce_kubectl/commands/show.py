"""`kubectl campaign show`: the answer to "I didn't get it", from the console."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from sendonce_kubectl.commands.people import RIGHTS
from sendonce_kubectl.console import campaign_path, open_console
from sendonce_kubectl.failing import Exit
from sendonce_kubectl.kubectl import Kubectl
from sendonce_kubectl.options import (
    People,
    campaign_argument,
    cluster_options,
    console_options,
    output_option,
    plain_name,
)
from sendonce_kubectl.showing import clean, emit, moment, table

__all__ = ["show_command"]

Data = Mapping[str, Any]
_EPILOG = f"""\b
RECIPIENT is your own id of that person, an address as it is written anywhere, or line:N.

\b
Examples:
  kubectl campaign show spring customer-4711
  kubectl campaign show spring mia@example.com -o json

\b
{RIGHTS}
"""


@click.command("show", epilog=_EPILOG)
@campaign_argument()
@click.argument("recipient", metavar="RECIPIENT")
@console_options
@cluster_options
@output_option("json", "yaml")
def show_command(*, campaign: str, recipient: str, people: People, kubectl: Kubectl, output: str | None) -> int:
    """Show what became of one person: each attempt, what the far end said, and the content that went out."""
    with open_console(kubectl, people.choice, people.token) as console:
        found = console.get(campaign_path(console.namespace, plain_name(campaign), "recipients", recipient))
    emit(output, found, lambda: "\n".join(_person(found)))
    return Exit.OK


def _person(found: Data) -> Iterator[str]:
    yield from _said(found.get("title"), found.get("sentence"))
    for one in found.get("deliveries") or ():
        yield ""
        yield from _delivery(one)
    for one in found.get("unreached") or ():
        yield f"{clean(str(one.get('channel')))}: {clean(str(one.get('why')))}"
    entries = found.get("consent") or ()
    if entries:
        yield ""
        rows = [(moment(one.get("since")), one.get("channel"), one.get("words"), one.get("source")) for one in entries]
        yield table(["SINCE", "CHANNEL", "CONSENT", "FROM"], rows)
    others = found.get("elsewhere") or ()
    if others:
        yield ""
        lines = [(moment(one.get("at")), one.get("campaign"), one.get("channel"), one.get("state")) for one in others]
        yield table(["WHEN", "OTHER CAMPAIGN", "CHANNEL", "STATE"], lines)


def _said(title: object, sentence: object) -> Iterator[str]:
    words = ": ".join(clean(str(one)) for one in (title, sentence) if one)
    if words:
        yield words


def _delivery(one: Data) -> Iterator[str]:
    why = f" ({one['reason']})" if one.get("reason") else ""
    yield clean(f"{one.get('channel')} to {one.get('address')} over {one.get('provider')}: {one.get('state')}{why}")
    yield from (f"  {clean(str(note))}" for note in one.get("notes") or ())
    attempts = one.get("attempts") or ()
    if attempts:
        rows = [
            (a.get("seq"), moment(a.get("at")), a.get("told") or a.get("outcome"), a.get("code"), a.get("message"),
             a.get("worker"))
            for a in attempts
        ]  # fmt: skip
        yield table(["TRY", "WHEN", "OUTCOME", "CODE", "THE FAR END SAID", "WORKER"], rows)
    for receipt in one.get("receipts") or ():
        yield clean(f"  receipt {moment(receipt.get('at'))}: {receipt.get('kind')} {receipt.get('message') or ''}")
    yield from _content(one.get("content") or {})


def _content(content: Data) -> Iterator[str]:
    yield from _said(content.get("verdict"), content.get("explanation"))
    for name, value in (content.get("parts") or {}).items():
        if name in {"text", "html"}:
            yield f"  {name}:"
            yield from (f"    {clean(line)}" for line in str(value).splitlines())
        else:
            yield f"  {clean(str(name))}: {clean(str(value))}"
