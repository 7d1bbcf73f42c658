"""How a campaign stands, for people: the object in, a row of a table or a page of text out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sendonce_kubectl.showing import age, clean, field, moment, table, when

__all__ = ["condition", "detail", "ended", "is_stopped", "is_unfinished", "row", "titles"]

Object = Mapping[str, Any]
STATES = ("pending", "sending", "sent", "failed", "uncertain", "suppressed", "expired", "cancelled")
_BAR = 30
# what to do where a person is needed, or may decide: the reason of Ready → the command
_NEXT = {
    "AwaitingPromotion": "the rest follows with `kubectl campaign promote {name}`",
    "FailureThreshold": "once mended: `kubectl campaign resume {name}`; the errors are below",
    "CanaryFailed": "once mended: `kubectl campaign resume {name}`; the errors are below",
    "CredentialsRejected": "mend the provider's credentials, then `kubectl campaign resume {name}`",
    "SourceUnreadable": "mend the source of recipients, then `kubectl campaign resume {name}`",
    "LedgerMissing": "restore the store; or `kubectl campaign resume {name}` sends it here, to everybody",
    "Suspended": "it goes on with `kubectl campaign resume {name}`",
    "SomeUndelivered": "`kubectl campaign deadletters {name}` lists them by reason",
}


def titles(*, wide: bool, everywhere: bool) -> list[str]:
    """The columns of a list."""
    shown = ["NAME", "STATUS", "TOTAL", "SENT", "FAILED", "UNCERTAIN", "PENDING", "ETA", "AGE"]
    more = ["SUPPRESSED", "EXPIRED", "CANCELLED", "CATEGORY", "SENDKEY", "MESSAGE"]
    return (["NAMESPACE"] if everywhere else []) + shown + (more if wide else [])


def row(campaign: Object, now: datetime, *, wide: bool, everywhere: bool) -> list[object]:
    """One campaign in a list."""
    meta, counts = campaign["metadata"], field(campaign, "status.deliveries", {})
    open_rows = counts.get("pending", 0) + counts.get("sending", 0)
    shown = [
        meta["name"], reason(campaign), counts.get("total", 0), counts.get("sent", 0), counts.get("failed", 0),
        counts.get("uncertain", 0), open_rows, _eta(campaign, now), age(when(meta.get("creationTimestamp")), now),
    ]  # fmt: skip
    more = [
        *(counts.get(state, 0) for state in ("suppressed", "expired", "cancelled")), field(campaign, "spec.category"),
        field(campaign, "spec.sendKey", meta["name"]), field(condition(campaign, "Ready"), "message"),
    ]  # fmt: skip
    return ([meta["namespace"]] if everywhere else []) + shown + (more if wide else [])


def _eta(campaign: Object, now: datetime) -> str:
    """How long it still takes; nothing once it is over."""
    expected = when(field(campaign, "status.estimatedCompletionTime"))
    if expected is None or ended(campaign):
        return ""
    return age(now, max(now, expected))


def condition(campaign: Object, kind: str) -> Object:
    """A condition; empty where there is none."""
    found = field(campaign, "status.conditions", [])
    return next((one for one in found if one.get("type") == kind), {})


def is_true(campaign: Object, kind: str) -> bool:
    """Whether the condition is True."""
    return condition(campaign, kind).get("status") == "True"


def reason(campaign: Object) -> str:
    """The state in a word, as `kubectl get` has it."""
    if field(campaign, "metadata.deletionTimestamp"):
        return "Terminating"
    return str(condition(campaign, "Ready").get("reason") or "Unknown")


def ended(campaign: Object) -> bool:
    """Whether it has come to an end of either kind."""
    return field(campaign, "status.completionTime") is not None


def is_unfinished(campaign: Object) -> bool:
    """Whether it ended otherwise than with everybody sent to."""
    counts = field(campaign, "status.deliveries", {})
    return is_true(campaign, "Failed") or counts.get("sent", 0) != counts.get("total", 0)


def is_stopped(campaign: Object) -> bool:
    """Whether it waits for a person's Resume: by its breaker, its canary, or what Stalled says."""
    by_itself = is_true(campaign, "Suspended") and condition(campaign, "Suspended").get("reason") in {
        "FailureThreshold",
        "CanaryFailed",
    }
    return (
        by_itself or is_true(campaign, "Stalled") or condition(campaign, "Failed").get("reason") == "SourceUnreadable"
    )


# --- one campaign ----------------------------------------------------------------------------------------------------
def detail(campaign: Object, now: datetime) -> str:
    """One campaign, with what it says of itself and what to do next."""
    facts = [f"{name:<12}{clean(value)}" for name, value in _facts(campaign, now) if value]
    return "\n".join([*facts, *_channels(campaign), *_errors(campaign)])


def _facts(campaign: Object, now: datetime) -> Iterator[tuple[str, str]]:
    meta, status = campaign["metadata"], campaign.get("status", {})
    yield "campaign", f"{meta['namespace']}/{meta['name']}" + _send_key(campaign)
    message = condition(campaign, "Ready").get("message")
    yield "status", reason(campaign) + (f": {message}" if message else "")
    yield "next", _next(campaign)
    yield "people", _people(status.get("recipients", {}))
    yield "progress", _progress(status.get("deliveries", {}))
    yield "canary", _canary(status.get("rollout"))
    yield "workers", _workers(status.get("workers"))
    yield "receipts", _receipts(status.get("receipts"))
    yield "started", moment(status.get("startTime"))
    expected = _eta(campaign, now)
    yield "ends", f"in about {expected}" if expected else ""
    yield "deadline", moment(field(campaign, "spec.schedule.deadline"))
    yield "ended", moment(status.get("completionTime"))


def _next(campaign: Object) -> str:
    if condition(campaign, "Suspended").get("reason") == "Standby":
        return "this cluster stands by: it sends nothing until the chart's mode is Normal"
    return _NEXT.get(reason(campaign), "").format(name=campaign["metadata"]["name"])


def _send_key(campaign: Object) -> str:
    key = field(campaign, "spec.sendKey")
    return f", send key {key}" if key and key != campaign["metadata"]["name"] else ""


def _people(counts: Object) -> str:
    if not counts:
        return ""
    extra = [f"{counts[name]:,} {name}" for name in ("duplicates", "rejected", "unreachable") if counts.get(name)]
    return ", ".join([f"{counts.get('total', 0):,}", *extra])


def _progress(counts: Object) -> str:
    total = counts.get("total", 0)
    if not total:
        return ""
    done = total - counts.get("pending", 0) - counts.get("sending", 0)
    filled = _BAR * done // total
    return (
        f"[{'#' * filled}{'.' * (_BAR - filled)}] {100 * done // total} %, {done:,} of {total:,} deliveries have ended"
    )


def _canary(rollout: Object | None) -> str:
    if not rollout:
        return ""
    counts = rollout.get("canary") or {}
    told = f"{counts.get('sent', 0):,} of {counts.get('total', 0):,} sent, {counts.get('failed', 0):,} failed"
    return f"{rollout['stage']}: {told}"


def _workers(workers: Object | None) -> str:
    return f"{workers.get('ready', 0)} of {workers['desired']} ready" if workers and workers.get("desired") else ""


def _receipts(counts: Object | None) -> str:
    if not counts or not any(counts.values()):
        return ""
    return f"{counts.get('delivered', 0):,} delivered, {counts.get('bounced', 0):,} bounced"


def _channels(campaign: Object) -> Sequence[str]:
    counts = field(campaign, "status.deliveries")
    if not counts:
        return []
    columns = ("total", *STATES)
    return ["", table([name.upper() for name in columns], [[counts.get(name, 0) for name in columns]])]


def _errors(campaign: Object) -> Sequence[str]:
    found = field(campaign, "status.topErrors", [])
    if not found:
        return []
    rows = [(one["count"], one["code"], one.get("message")) for one in found]
    return ["", table(["COUNT", "CODE", "THE FAR END SAID, FOR ONE OF THEM"], rows)]
