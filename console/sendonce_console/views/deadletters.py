"""Dead letters by reason, ready to be shown: the store's groups in; words, levers and their addresses out. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sendonce_console.views.person import levers_for
from sendonce_console.views.reasons import reason_in_words
from sendonce_store.console_deadletters import Group, Groups, PlacedOrder
from sendonce_store.masking import mask_foreign
from sendonce_store.ordering import pascal
from sendonce_store.spec import DeliveryReason

__all__ = ["DEAD", "GroupView", "OrderView", "group_views", "order_view", "selection_of", "undo_of"]

DEAD = ("failed", "uncertain", "expired", "cancelled")
_KNOWN_REASONS = {reason.value for reason in DeliveryReason}
_DID = {
    "Retry": "Tried again",
    "Promote": "Let the rest follow the canary",
    "Resume": "Went on after a stop",
    "Suppress": "Suppressed",
    "Unsuppress": "Lifted suppressions",
    "Suspend": "Suspended the campaign",
    "GoOn": "Let the campaign go on",
    "Cancel": "Cancelled the campaign",
}
_BACK = {"Suspend": "go-on", "GoOn": "suspend"}
_RESOLVED = {"sent": "Resolved as sent", "failed": "Gave up on", "resend": "Ordered again"}


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group. `message`: one of the far end's answers, masked for who may not see people.

    `selection`: as levers take it.
    """

    group: Group
    words: str
    message: str
    levers: Sequence[str]
    selection: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class OrderView:
    """An order in words: what, by whom, of what, what came of it; `undo`: the lever that takes it back."""

    order: PlacedOrder
    title: str
    who: str
    about: str
    result: str
    undo: tuple[str, Mapping[str, Sequence[str]]] | None


def group_views(groups: Groups, *, people: bool) -> list[GroupView]:
    """The groups; `people`: whether addresses may be seen."""
    return [
        GroupView(
            one,
            reason_in_words(one.state, one.reason),
            (one.message or "") if people else mask_foreign(one.message or ""),
            levers_for(one.state),
            selection_of(one),
        )
        for one in groups.items
    ]


def selection_of(group: Group) -> Mapping[str, Sequence[str]]:
    """What selects the group, as `deliveries` of an action; what that can't say is left out, and takes more."""
    reason = pascal(group.reason) if group.reason else ""
    found = {
        "states": [pascal(group.state)],
        "channels": [group.channel],
        "reasons": [reason] if reason in _KNOWN_REASONS else [],
        "codes": [group.code] if group.code else [],
    }
    return {name: values for name, values in found.items() if values}


def order_view(order: PlacedOrder) -> OrderView:
    """An order of the ledger in words."""
    title = _DID.get(order.type) or _RESOLVED.get(str(order.spec.get("resolveAs")), order.type)
    if order.finished_at is None:
        result = f"Under way: {order.changed} changed so far."
    else:
        result = order.message or f"{order.changed} of {order.matched} changed."
    who = order.requested_by or "by kubectl, a pipeline or the command line"
    return OrderView(order, title, who, _about(order), result, undo_of(order))


def undo_of(order: PlacedOrder) -> tuple[str, Mapping[str, Sequence[str]]] | None:
    """The lever, and the selection for it, that takes an order back; None: nothing does."""

    def chosen(*names: str) -> dict[str, Sequence[str]]:
        return {name: order.spec[name] for name in names if order.spec.get(name)}

    if order.type in _BACK:
        return _BACK[order.type], {}
    if order.type in {"Suppress", "Unsuppress"}:
        same = chosen("states", "reasons", "codes", "channels", "recipients")
        return ("unsuppress" if order.type == "Suppress" else "suppress"), same
    if order.type == "Cancel":
        return "retry", {"states": ["cancelled"], "reasons": ["cancelled"]}
    if order.spec.get("resolveAs") == "failed":
        return "retry", {**chosen("codes", "channels", "recipients"), "states": ["failed"], "reasons": ["resolved"]}
    return None


def _about(order: PlacedOrder) -> str:
    """What was selected; recipients are counted, not named."""
    spec = order.spec
    parts = [", ".join(map(str, spec[name])) for name in ("states", "reasons", "codes", "channels") if spec.get(name)]
    if recipients := spec.get("recipients"):
        parts.append("1 recipient" if len(recipients) == 1 else f"{len(recipients)} recipients")
    if spec.get("limit"):
        parts.append(f"{spec['limit']} at most")
    return " · ".join(parts)
