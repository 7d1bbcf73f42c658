"""`kubectl campaign suspend`, `resume` and `cancel`: what is wished of a campaign, in its spec."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from sendonce_kubectl.commands.levers import (
    RESOURCE,
    Ordering,
    confirm,
    lever_options,
    name_option,
    order,
    print_object,
)
from sendonce_kubectl.failing import Exit, PluginError
from sendonce_kubectl.kubectl import Kubectl, Object
from sendonce_kubectl.options import campaign_argument, plain_name
from sendonce_kubectl.paths import CAMPAIGN, MANAGER
from sendonce_kubectl.showing import field
from sendonce_kubectl.standing import condition, ended, is_stopped, is_true, reason
from sendonce_kubectl.watching import View, follow

__all__ = ["cancel_command", "resume_command", "suspend_command"]

KIND = "notificationcampaign.sendonce.dev"
RIGHTS = "Rights: get, patch and watch notificationcampaigns (ClusterRole sendonce-editor)."


@dataclass(frozen=True, slots=True)
class Wish:
    """A change of the spec, the word for it, and how the campaign shows that it was heard."""

    spec: Mapping[str, Any]
    word: str
    heard: Callable[[Object], bool]


SUSPEND = Wish({"suspend": True}, "suspended", lambda one: is_true(one, "Suspended") or ended(one))
RESUME = Wish({"suspend": False}, "resumed", lambda one: condition(one, "Suspended").get("reason") != "SpecSuspend")
CANCEL = Wish({"cancel": True}, "cancelled", ended)

_SUSPEND = f"""\b
Example:
  kubectl campaign suspend spring

\b
Where a tool applies the campaign from git, suspend it there: the tool would undo this.
{RIGHTS}
"""


@click.command("suspend", epilog=_SUSPEND)
@campaign_argument()
@lever_options
def suspend_command(*, campaign: str, kubectl: Kubectl, **given: Any) -> int:  # noqa: ANN401 - click's values
    """Stop handing off; what is in flight is finished. `kubectl campaign resume` goes on."""
    found = _found(kubectl, campaign)
    if ended(found):
        raise PluginError(f"{_name(found)} has ended: {reason(found)}; there is nothing to suspend", Exit.REFUSED)
    return _wish(kubectl, found, SUSPEND, Ordering(**given))


_RESUME = f"""\b
After `suspend` it takes the right to patch the campaign; after a stop by an error (the failure
threshold, a canary, credentials) it is an order, and the failure threshold counts anew.

\b
Example:
  kubectl campaign resume spring

\b
{RIGHTS}
After an error: create, get and watch notificationactions.
"""


@click.command("resume", epilog=_RESUME)
@campaign_argument()
@name_option
@lever_options
def resume_command(*, campaign: str, kubectl: Kubectl, **given: Any) -> int:  # noqa: ANN401 - click's values
    """Go on with a campaign that was suspended, or stopped by an error."""
    found, ordering = _found(kubectl, campaign), Ordering(**given)
    suspended, stopped = bool(field(found, "spec.suspend")), is_stopped(found)
    if suspended:
        _wish(kubectl, found, RESUME, ordering)
    if stopped:
        return order(kubectl, campaign, "Resume", ordering)
    if not suspended:
        raise PluginError(f"{_name(found)} is not stopped: {reason(found)}{_hint(found)}", Exit.REFUSED)
    return Exit.OK


def _hint(found: Object) -> str:
    if condition(found, "Suspended").get("reason") == "Standby":
        return "; this cluster stands by: it sends nothing until the chart's mode is Normal"
    promote = "; the rest follows its canary with `kubectl campaign promote`"
    return promote if reason(found) == "AwaitingPromotion" else ""


_CANCEL = f"""\b
Example:
  kubectl campaign cancel spring --yes

\b
It can't be undone; `kubectl campaign retry --state Cancelled` opens what was not sent again.
{RIGHTS}
"""


@click.command("cancel", epilog=_CANCEL)
@campaign_argument()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@lever_options
def cancel_command(*, campaign: str, yes: bool, kubectl: Kubectl, **given: Any) -> int:  # noqa: ANN401 - click's values
    """End a campaign: what has not been handed off will not be."""
    found, ordering = _found(kubectl, campaign), Ordering(**given)
    if ended(found):
        raise PluginError(f"{_name(found)} has ended: {reason(found)}; there is nothing to cancel", Exit.REFUSED)
    if not yes and ordering.dry_run == "none":
        left = field(found, "status.deliveries.pending", 0)
        confirm(f"cancel ends {_name(found)}: {left:,} deliveries that wait will not be sent.", "Cancel it?")
    return _wish(kubectl, found, CANCEL, ordering)


def _found(kubectl: Kubectl, campaign: str) -> Object:
    return kubectl.json("get", RESOURCE, plain_name(campaign), "--output=json")


def _name(found: Object) -> str:
    return str(found["metadata"]["name"])


def _wish(kubectl: Kubectl, found: Object, wish: Wish, ordering: Ordering) -> int:
    """Patch the spec, and wait until the operator has heard of it. Raises PluginError."""
    patch = json.dumps({"spec": dict(wish.spec)})
    fixed = ["--type=merge", f"--patch={patch}", f"--field-manager={MANAGER}", "--output=json"]
    patched = kubectl.json("patch", RESOURCE, _name(found), *fixed, f"--dry-run={ordering.dry_run}")
    if ordering.dry_run != "none":
        return print_object(patched, KIND, ordering.output, f"would be {wish.word} ({ordering.dry_run} dry run)")
    heard = _heard(kubectl, patched, wish, ordering.seconds) if ordering.seconds else patched
    return print_object(heard, KIND, ordering.output, wish.word if ordering.seconds else "patched")


def _heard(kubectl: Kubectl, patched: Object, wish: Wish, seconds: float) -> Object:
    meta = patched["metadata"]
    view = View(kubectl, CAMPAIGN, meta["namespace"], meta["name"], until=time.monotonic() + seconds)
    for found in follow(view, patched):
        if field(found, "status.observedGeneration") == found["metadata"]["generation"] and wish.heard(found):
            return found
    raise PluginError(
        f"{meta['name']}: the wish stands in its spec, and the operator has not acted on it within {seconds:g} s: "
        "does it run? `kubectl campaign status` shows when",
        Exit.WAITS,
    )
