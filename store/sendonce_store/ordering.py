"""From a NotificationAction to the store's order: the words of the resource in, those of the ledger out; pure."""

from __future__ import annotations

import re

from sendonce_store.actions import Order, Selection
from sendonce_store.spec import ActionSpec, ActionType

__all__ = ["order_of", "pascal", "snake"]

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_NO_PATIENCE = 45.0


def order_of(name: str, spec: ActionSpec, patience: float = _NO_PATIENCE, requested_by: str | None = None) -> Order:
    """The order as the store takes it. `patience`: seconds that an attempt can be under way."""
    chosen = spec.deliveries
    selection = Selection(
        states=_states(spec),
        reasons=[snake(reason.value) for reason in chosen.reasons] or None if chosen else None,
        codes=list(chosen.codes) or None if chosen else None,
        channels=[channel.value for channel in chosen.channels] or None if chosen else None,
        limit=chosen.limit if chosen else None,
        recipients=list(chosen.recipients) or None if chosen else None,
    )
    resolve_as = spec.resolve_as.value.lower() if spec.resolve_as else None
    return Order(name, spec.type.value, selection, resolve_as, patience, requested_by)


def _states(spec: ActionSpec) -> list[str] | None:
    """The ledger's names of the states that are meant; None: any, which only suppressions may be."""
    states = [state.value.lower() for state in spec.effective_states]
    anybody = spec.type in {ActionType.SUPPRESS, ActionType.UNSUPPRESS} and not states
    return None if anybody else states


def snake(word: str) -> str:
    """`RetriesExhausted` → `retries_exhausted`, as the ledger writes it."""
    return _CAPITAL.sub("_", word).lower()


def pascal(word: str) -> str:
    """`retries_exhausted` → `RetriesExhausted`, as the resources write it."""
    return "".join(part.capitalize() for part in word.split("_"))
