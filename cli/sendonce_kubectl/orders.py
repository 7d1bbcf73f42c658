"""What a person orders: options in, a NotificationAction out. Pure.

An order has a name made of what it says and of how the campaign stands. Given again while nothing has changed (a reply
was lost, somebody presses the key twice), it has the same name, and the API server refuses a second one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sendonce_kubectl.failing import PluginError

__all__ = ["REASONS", "RETRIABLE", "Selection", "action", "name_of", "same_order", "signed"]

Object = dict[str, Any]
RETRIABLE = ("Failed", "Expired", "Cancelled", "Suppressed")
REASONS = (
    "Permanent", "RetriesExhausted", "RenderError", "InvalidRecipient", "Resolved", "Poison", "UnknownOutcome",
    "Recovered", "Restored", "KeyWindowPassed", "RepeatNotSafe", "ContentChanged", "SuppressionList", "OptedOut",
    "UnknownTimezone", "FrequencyCap", "Deadline", "Cancelled", "ImportFailed", "UnexpectedCount", "TooManyRejected",
)  # fmt: skip
MOST_RECIPIENTS = 100
# a DNS label; the digest takes ten of it
_LONGEST_STEM = 50
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which deliveries; nothing given means any. `recipients`: the ids of people."""

    states: Sequence[str] = ()
    reasons: Sequence[str] = ()
    codes: Sequence[str] = ()
    channels: Sequence[str] = ()
    recipients: Sequence[str] = ()
    limit: int | None = None

    def document(self) -> Object:
        """As `spec.deliveries`; empty where nothing is selected. Raises PluginError."""
        if len(self.recipients) > MOST_RECIPIENTS:
            raise PluginError(
                f"--recipient: {len(self.recipients)} are more than {MOST_RECIPIENTS}: give several orders"
            )
        lists = {
            "states": self.states,
            "reasons": [_reason(one) for one in self.reasons],
            "codes": self.codes,
            "channels": self.channels,
            "recipients": self.recipients,
        }
        found: Object = {name: list(values) for name, values in lists.items() if values}
        return found if self.limit is None else {**found, "limit": self.limit}


def _reason(text: str) -> str:
    """`retries_exhausted`, as the ledger has it, and `RetriesExhausted`, as the resource has it."""
    known = {one.lower(): one for one in REASONS}
    found = known.get(text.replace("_", "").lower())
    if found is None:
        raise PluginError(f"--reason: {text!r} is none of {', '.join(REASONS)}")
    return found


REQUESTED_BY = "sendonce.dev/requested-by"


def action(campaign: Mapping[str, Any], kind: str, *, name: str | None = None, **spec: object) -> Object:
    """The NotificationAction; what is empty in `spec` is left out. Raises PluginError for a name that can be none."""
    wanted: Object = {"campaignRef": {"name": campaign["metadata"]["name"]}, "type": kind}
    wanted |= {field: value for field, value in spec.items() if value}
    if name is not None and not _NAME.fullmatch(name):
        raise PluginError(f"--name: {name!r} is no name: use at most 63 of a-z, 0-9 and -, no - at the ends")
    return {
        "apiVersion": "sendonce.dev/v1alpha1",
        "kind": "NotificationAction",
        "metadata": {"name": name or name_of(campaign, wanted), "namespace": campaign["metadata"]["namespace"]},
        "spec": wanted,
    }


def signed(order: Mapping[str, Any], who: str) -> Object:
    """The order with the name of whoever gives it, as they say themselves: the API server keeps it for nobody."""
    return {**order, "metadata": {**order["metadata"], "annotations": {REQUESTED_BY: who}}} if who else dict(order)


def name_of(campaign: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    """`spring-retry-3f2a91c4e0`: the same order, on a campaign that stands as before, has the same name."""
    status = campaign.get("status", {})
    turns = [[one["type"], one["status"], one.get("lastTransitionTime")] for one in status.get("conditions", ())]
    seen = [campaign["metadata"].get("uid"), spec, status.get("deliveries"), status.get("completionTime"), turns]
    digest = hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:10]
    stem = f"{campaign['metadata']['name'][: _LONGEST_STEM - 9].rstrip('-')}-{spec['type'].lower()}"
    return f"{stem}-{digest}"


def same_order(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an order that is there says the same. The server adds defaults: what was wanted must be in it."""
    return _within(wanted["spec"], found.get("spec", {}))


def _within(wanted: object, found: object) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(_within(value, found.get(key)) for key, value in wanted.items())
    return wanted == found
