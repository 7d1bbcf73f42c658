"""Rules that look at more than one field: the table rows, and how a model applies them.

Each kind has its own tables (`campaign_rules`, `provider_rules`, `action_rules`, `transitions`). A row holds a pure
function that returns the paths at which the rule is broken, and the one message that people read, so that a CRD can
carry the same rule and the same words. A model names its rows in `RULES`; `base.SpecModel` applies them after its own
fields are sound, and `explain` turns what they found into problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sendonce_store.spec.problems import Path

__all__ = ["BREACH", "Rule", "TransitionRule", "enforce"]

T = TypeVar("T")

BREACH = "sendonce_rules"
"""The pydantic error type of broken rules; its context has `breaches`: a list of (path, message)."""


@dataclass(frozen=True, slots=True)
class Rule(Generic[T]):
    """One rule over one object.

    `scope` is where a CRD carries it (`spec.recipients`; empty: the root). `breaches` returns the paths, relative to
    the object, at which it is broken: none means that it holds.
    """

    name: str
    scope: str
    message: str
    breaches: Callable[[T], Iterable[Path]]


@dataclass(frozen=True, slots=True)
class TransitionRule(Generic[T]):
    """One rule over a change, from the stored object to the new one; fields as in `Rule`."""

    name: str
    scope: str
    message: str
    breaches: Callable[[T, T], Iterable[Path]]


def enforce(rules: Iterable[Rule[Any]], value: T) -> T:
    """Return the value, or raise one PydanticCustomError that carries everything it breaks."""
    breaches = [(path, rule.message) for rule in rules for path in rule.breaches(value)]
    if breaches:
        summary = "; ".join(message for _, message in breaches)
        raise PydanticCustomError(BREACH, "{summary}", {"summary": summary, "breaches": breaches})
    return value
