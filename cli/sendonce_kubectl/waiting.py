"""An order on its way: a NotificationAction that was just created in, how it ended out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sendonce_kubectl.failing import Exit, PluginError, tell
from sendonce_kubectl.kubectl import Kubectl, KubectlError, Object
from sendonce_kubectl.orders import same_order
from sendonce_kubectl.paths import ACTION, MANAGER, one, several
from sendonce_kubectl.showing import field
from sendonce_kubectl.standing import condition
from sendonce_kubectl.watching import View, follow

__all__ = ["give", "outcome", "wait_for"]

# three seconds in all
MOST_LOST, FIRST_PAUSE = 4, 0.2


def give(kubectl: Kubectl, order: Mapping[str, Any], *, dry_run: bool) -> tuple[Object, bool]:
    """Create the order; one that is there and says the same is taken instead. Returns it, and whether it is new.

    A reply that was lost is no reason to order twice: the name is the same, so it is asked for again.
    """
    namespace, name = order["metadata"]["namespace"], order["metadata"]["name"]
    query = {"fieldManager": MANAGER, "fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
    path, lost = several(ACTION, namespace, query), 0
    while True:
        try:
            return kubectl.create(path, order), True
        except KubectlError as error:
            if error.reason == "AlreadyExists":
                return _same(kubectl, order), lost > 0
            if not error.passes or lost == MOST_LOST:
                raise _understood(error, order) from None
            tell(f"{error}; {name} is asked for again")
        time.sleep(FIRST_PAUSE * 2**lost)
        lost += 1


def _same(kubectl: Kubectl, order: Mapping[str, Any]) -> Object:
    namespace, name = order["metadata"]["namespace"], order["metadata"]["name"]
    found = kubectl.get(one(ACTION, namespace, name))
    if same_order(found, order):
        return found
    raise PluginError(f"{name} is there already and orders something else: give --name another one", Exit.REFUSED)


def _understood(error: KubectlError, order: Mapping[str, Any]) -> PluginError:
    if "unknown field" in error.message and "recipients" in error.message:
        kind = order["spec"]["type"]
        return PluginError(
            f"--recipient: the CRDs of this cluster are older, and can't {kind} single people: upgrade the chart",
            Exit.REFUSED,
        )
    return error


def wait_for(kubectl: Kubectl, order: Object, seconds: float) -> Object:
    """Follow it until it is over, or waits for a person. Raises PluginError when it takes longer."""
    namespace, name = order["metadata"]["namespace"], order["metadata"]["name"]
    latest = order
    for latest in follow(View(kubectl, ACTION, namespace, name, until=time.monotonic() + seconds), order):
        if _over(latest):
            return latest
    message = condition(latest, "Reconciling").get("message") or "the operator has said nothing; see whether it runs"
    raise PluginError(
        f"{name} was ordered and is not done after {seconds:g} s: {message}. It stands: "
        f"`kubectl -n {namespace} get na {name} -w` shows when",
        Exit.WAITS,
    )


def _over(order: Object) -> bool:
    return any(condition(order, kind).get("status") == "True" for kind in ("Complete", "Failed", "Stalled"))


def outcome(order: Object) -> str:
    """`3 of 3 deliveries changed`, or why it came to nothing. Raises PluginError where it failed or waits."""
    name, failed, stalled = order["metadata"]["name"], condition(order, "Failed"), condition(order, "Stalled")
    if failed.get("status") == "True":
        raise PluginError(f"{name}: {failed.get('message')}", Exit.REFUSED)
    if stalled.get("status") == "True":
        raise PluginError(f"{name} waits: {stalled.get('reason')}: {stalled.get('message')}", Exit.WAITS)
    return str(condition(order, "Complete").get("message") or f"{field(order, 'status.changed', 0)} deliveries changed")
