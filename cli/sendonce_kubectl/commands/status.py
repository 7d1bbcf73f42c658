"""`kubectl campaign status`: all campaigns in a list, or one in detail; once, or as they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click

from sendonce_kubectl.failing import Exit, PluginError
from sendonce_kubectl.kubectl import Kubectl, Object
from sendonce_kubectl.options import campaign_argument, cluster_options, output_option, plain_name
from sendonce_kubectl.paths import CAMPAIGN
from sendonce_kubectl.showing import Columns, as_json, as_yaml, emit, names, table
from sendonce_kubectl.standing import detail, ended, is_unfinished, row, titles
from sendonce_kubectl.tokens import surroundings
from sendonce_kubectl.watching import View, follow, follow_all

__all__ = ["status_command"]

KIND = "notificationcampaign.sendonce.dev"
RESOURCE = "notificationcampaigns.sendonce.dev"
_EPILOG = """\b
Examples:
  kubectl campaign status
  kubectl campaign status -A -l team=shop -o wide
  kubectl campaign status spring
  kubectl campaign status spring -w       a line for each change, until it has ended

\b
Exit codes: 0 fine; with -w and a name: 1 it ended, and not everybody was sent to; 4 no such campaign.
Rights: get, list and watch notificationcampaigns (ClusterRole sendonce-viewer, part of view).
"""


@click.command("status", epilog=_EPILOG)
@campaign_argument(required=False)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="The campaigns of all namespaces.")
@click.option("-l", "--selector", default="", metavar="LABELS", help="Only those with these labels, as in kubectl get.")
@click.option("-w", "--watch", is_flag=True, help="Go on as they change.")
@cluster_options
@output_option()
def status_command(  # noqa: PLR0913 - one parameter per option
    *, campaign: str | None, everywhere: bool, selector: str, watch: bool, kubectl: Kubectl, output: str | None
) -> int:
    """Show how campaigns stand: all in a list, or one in detail."""
    if campaign is not None:
        if everywhere or selector:
            raise PluginError("CAMPAIGN is one of one namespace: leave out -A and -l, or the name")
        name = plain_name(campaign)
        return _watch_one(kubectl, name, output) if watch else _one(kubectl, name, output)
    return (
        _watch_all(kubectl, selector, output, everywhere=everywhere)
        if watch
        else _all(kubectl, selector, output, everywhere=everywhere)
    )


def _one(kubectl: Kubectl, name: str, output: str | None) -> int:
    found = kubectl.json("get", RESOURCE, name, "--output=json")
    wide = output == "wide"
    emit(output, found, lambda: _rows([found], wide=wide) if wide else detail(found, datetime.now(UTC)), KIND)
    return Exit.OK


def _all(kubectl: Kubectl, selector: str, output: str | None, *, everywhere: bool) -> int:
    where = ["--all-namespaces"] if everywhere else []
    chosen = [f"--selector={selector}"] if selector else []
    found = kubectl.json("get", RESOURCE, "--output=json", *where, *chosen)
    emit(output, found, lambda: _list(found["items"], wide=output == "wide", everywhere=everywhere), KIND)
    return Exit.OK


def _list(campaigns: Sequence[Object], *, wide: bool, everywhere: bool) -> str:
    if not campaigns:
        return "No campaigns found." if everywhere else "No campaigns found in this namespace."
    return _rows(campaigns, wide=wide, everywhere=everywhere)


def _rows(campaigns: Sequence[Object], *, wide: bool, everywhere: bool = False) -> str:
    now = datetime.now(UTC)
    lines = [row(one, now, wide=wide, everywhere=everywhere) for one in campaigns]
    return table(titles(wide=wide, everywhere=everywhere), lines)


# --- as they change --------------------------------------------------------------------------------------------------
def _watch_one(kubectl: Kubectl, name: str, output: str | None) -> int:
    """Until it has ended."""
    view = View(kubectl, CAMPAIGN, _namespace(kubectl), name)
    for found in _printed(follow(view), output, everywhere=False):
        if ended(found):
            return Exit.REFUSED if is_unfinished(found) else Exit.OK
    return Exit.OK


def _watch_all(kubectl: Kubectl, selector: str, output: str | None, *, everywhere: bool) -> int:
    view = View(kubectl, CAMPAIGN, "" if everywhere else _namespace(kubectl), selector=selector)
    for _ in _printed(_living(view), output, everywhere=everywhere):
        pass
    return Exit.OK


def _living(view: View) -> Iterator[Object]:
    for kind, found in follow_all(view):
        if kind == "DELETED":
            found["metadata"]["deletionTimestamp"] = found["metadata"].get("deletionTimestamp") or "now"
        yield found


def _namespace(kubectl: Kubectl) -> str:
    return kubectl.namespace or surroundings(kubectl).namespace


def _printed(found: Iterator[Object], output: str | None, *, everywhere: bool) -> Iterator[Object]:
    """A line for each that looks other than the line before for the same campaign; its age alone is no change."""
    head = titles(wide=output == "wide", everywhere=everywhere)
    columns, age, told = Columns(head), head.index("AGE"), dict[str, Sequence[object]]()
    for one in found:
        line = row(one, datetime.now(UTC), wide=output == "wide", everywhere=everywhere)
        seen = [*line[:age], *line[age + 1 :]]
        if told.get(one["metadata"]["uid"]) != seen:
            if output in _TABLES and not told:
                click.echo(columns.head)
            told[one["metadata"]["uid"]] = seen
            click.echo(columns.line(line) if output in _TABLES else _whole(one, output))
        yield one


_TABLES = (None, "wide")


def _whole(one: Object, output: str | None) -> str:
    if output == "json":
        return as_json(one)
    return f"---\n{as_yaml(one)}".rstrip() if output == "yaml" else names(one, KIND)[0]
