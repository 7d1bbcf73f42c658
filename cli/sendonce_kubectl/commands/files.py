"""`kubectl campaign preview` and `proof`, which the console makes; and `completion`, a file for the shell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from sendonce_kubectl.commands.people import CAMPAIGN_RIGHTS
from sendonce_kubectl.console import campaign_path, open_console
from sendonce_kubectl.failing import Exit, PluginError
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

__all__ = ["SCRIPT", "completion_command", "preview_command", "proof_command"]

Data = Mapping[str, Any]
MOST_TEXT = 2 * 2**20
_PREVIEW = """\b
FILE is a campaign's document, - for standard input. Nothing is applied, and nothing is sent.

\b
Examples:
  kubectl campaign preview spring.yaml
  kubectl campaign preview spring.yaml --recipient customer-4711
  helm template shop | kubectl campaign preview -

\b
Exit codes: 0 fine, 2 the file has errors.
Rights: get notificationcampaigns (ClusterRole sendonce-viewer, part of view).
"""


@click.command("preview", epilog=_PREVIEW)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--recipient", "recipients", multiple=True, metavar="ID", help="For whom. Default: a few by chance.")
@console_options
@cluster_options
@output_option("json", "yaml")
def preview_command(
    *, file: str, recipients: tuple[str, ...], people: People, kubectl: Kubectl, output: str | None
) -> int:
    """Check a campaign's file, and show its messages as people would get them."""
    text = _read(file)
    with open_console(kubectl, people.choice, people.token) as console:
        body = {"text": text, "recipients": list(recipients)}
        found = console.post(f"/api/v1/namespaces/{console.namespace}/preview", body)
    emit(output, found, lambda: "\n".join(_preview(found)) or "No messages.")
    problems = [_problem(file, one) for one in found.get("problems") or ()]
    if problems:
        raise PluginError(problems)
    return Exit.OK


def _read(file: str) -> str:
    try:
        with click.open_file(file, encoding="utf-8") as opened:
            text: str = opened.read(MOST_TEXT + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise PluginError(f"{file}: can't be read: {error}") from None
    if len(text) > MOST_TEXT:
        raise PluginError(f"{file}: is larger than {MOST_TEXT >> 20} MiB, which no campaign's document is")
    return text


def _problem(file: str, one: Data) -> str:
    place = ":".join(str(part) for part in (file, one.get("line")) if part)
    return clean(": ".join(str(part) for part in (place, one.get("field"), one.get("message")) if part))


def _preview(found: Data) -> Iterator[str]:
    for one in found.get("messages") or ():
        yield clean(f"{one.get('channel')} to {one.get('recipient')} ({one.get('address')})")
        if one.get("problem"):
            yield clean(f"  can't be rendered: {one['problem']}")
        for name, value in (one.get("parts") or {}).items():
            lines = [clean(line) for line in str(value).splitlines()]
            yield f"  {name}: {lines[0]}" if len(lines) == 1 else "\n    ".join([f"  {name}:", *lines])
        yield ""
    for kind in ("note", "warning"):
        yield from (f"{kind}: {clean(str(words))}" for words in found.get(f"{kind}s") or ())
    yield from (f"not looked at: {clean(str(name))}" for name in found.get("missing") or ())
    if found.get("recipients"):
        yield f"{found['recipients']:,} rows of recipients, {found.get('rejected', 0):,} of them refused"


_PROOF = f"""\b
In it: totals that add up, reasons, first and last hand-off, duplicates and how they were counted,
the digest of each text, who ordered what, and what can't be known. The campaign must have ended.
`sendonce proof --verify FILE` checks a JSON document by its digest.

\b
Examples:
  kubectl campaign proof spring
  kubectl campaign proof spring -o html > spring.html

\b
Exit codes: 0 it holds, 1 it does not.
{CAMPAIGN_RIGHTS}
"""


@click.command("proof", epilog=_PROOF)
@campaign_argument()
@console_options
@cluster_options
@output_option("json", "csv", "html")
def proof_command(*, campaign: str, people: People, kubectl: Kubectl, output: str | None) -> int:
    """Prove how a finished campaign ended, as CSV, JSON or a page to print."""
    with open_console(kubectl, people.choice, people.token) as console:
        path = campaign_path(console.namespace, plain_name(campaign), "proof")
        content = console.fetch(path, {"format": output or "json"})
    if output is not None:
        click.echo(content, nl=False)
        return Exit.OK if output != "json" else _holds(content)
    found = _document(content)
    click.echo("\n".join(_gist(found)))
    return Exit.OK if found.get("holds") is True else Exit.REFUSED


def _document(content: bytes) -> Data:
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not str(found.get("kind")).startswith("sendonce.dev/proof/"):
        raise PluginError("the console's answer is no proof: is it of another version?", Exit.UNREACHABLE)
    return found


def _holds(content: bytes) -> int:
    return Exit.OK if _document(content).get("holds") is True else Exit.REFUSED


def _gist(found: Data) -> Iterator[str]:
    campaign, people, twice = found["campaign"], found["people"], found["duplicates"]
    holds = "holds: every sum adds up, and nobody is known to have been sent to twice"
    yield clean(f"the proof of {campaign['sendKey']} {holds if found['holds'] else 'DOES NOT HOLD'}")
    yield clean(f"ended {moment(campaign.get('completionTime'))}: {campaign['reason']}: {campaign['message']}")
    yield f"people: {people['total']:,} of {people['rowsRead']:,} rows; {people['rejected']:,} refused"
    count = "not known any more" if twice["count"] is None else f"{twice['count']:,}"
    yield f"accepted more than once: {count}; uncertain: {twice['uncertain']:,}"
    yield from (
        clean(f"WRONG: {one['what']}: {one['found']}, not {one['expected']}")
        for one in found["sums"]
        if not one["holds"]
    )
    tallies = [*found["channels"], found["deliveries"]]
    titles = ["CHANNEL", "TOTAL", *(name.upper() for name in found["deliveries"]["states"])]
    yield ""
    yield table(titles, [[one["channel"], one["total"], *one["states"].values()] for one in tallies])
    yield from (clean(sentence) for sentence in found["unknown"])
    yield clean(f"digest: {found['digest']}")


_COMPLETION = """\b
kubectl (1.26 or newer) completes a plugin's words by a program of this name on the PATH.

\b
Example:
  kubectl campaign completion > ~/.local/bin/kubectl_complete-campaign
  chmod +x ~/.local/bin/kubectl_complete-campaign
"""
SCRIPT = """\
#!/bin/sh
# completes `kubectl campaign`, for kubectl's own completion
exec kubectl-campaign __complete "$@"
"""


@click.command("completion", epilog=_COMPLETION)
@click.option("--write", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER", help="Put it there.")
def completion_command(*, write: Path | None) -> int:
    """Print the program by which kubectl completes commands, options, and the names of campaigns."""
    if write is None:
        click.echo(SCRIPT, nl=False)
        return Exit.OK
    target = write / "kubectl_complete-campaign"
    try:
        target.write_text(SCRIPT, "ascii")
        target.chmod(0o755)
    except OSError as error:
        raise PluginError(f"{target}: can't be written: {error.strerror}") from None
    click.echo(str(target))
    return Exit.OK
