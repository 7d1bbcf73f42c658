"""Rules that look at more than one field: the table rows, and how a model applies them.

Each kind has its own tables (`campaign_rules`, `provider_rules`, `action_rules`, `transitions`). A row holds the rule
twice, once as a pure function that returns the paths at which it is broken and once as CEL for the API server, and the
one message that people read of both. A model names its rows in `RULES`; `base.SpecModel` applies them after its own
fields are sound, `explain` turns what they found into problems, and `crd` writes the CEL into the CRDs. That both
say the same is shown case by case on a real API server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sendonce_store.spec.problems import Path

__all__ = ["BREACH", "Rule", "RuleRow", "TransitionRule", "enforce"]

T = TypeVar("T")

BREACH = "sendonce_rules"
"""The pydantic error type of broken rules; its context has `breaches`: a list of (path, message)."""


@dataclass(frozen=True, slots=True)
class RuleRow:
    """What all rules have.

    `scope` is where a CRD carries it (`spec.recipients`, `spec.messages[*]`; empty: the root). `field` is what it
    blames, relative to the scope (`schedule.quietHours`; `[*]` for any entry of a list; empty: the object itself).
    `message` goes on from the field's name, which every reader shows; without a field it is a whole sentence. `cel`
    is the expression that is true when the rule holds, with `self` for the object.
    """

    name: str
    scope: str
    field: str
    message: str
    cel: str

    @property
    def sentence(self) -> str:
        """The message with the field's name in front: for readers that show no more than the scope."""
        subject = self.field.removeprefix("[*].")
        return f"{subject} {self.message}" if subject else self.message

    @property
    def field_path(self) -> str | None:
        """The field as `fieldPath` of the API server.

        None where it can't name one: below metadata. In a list, whose index it can't name, the list.
        """
        path = self.field.partition("[*]")[0]
        return f".{path}" if path and not path.startswith("metadata") else None


@dataclass(frozen=True, slots=True)
class Rule(RuleRow, Generic[T]):
    """One rule over one object.

    `breaches` returns the paths, relative to the object, at which it is broken: none means that it holds.
    """

    breaches: Callable[[T], Iterable[Path]]


@dataclass(frozen=True, slots=True)
class TransitionRule(RuleRow, Generic[T]):
    """One rule over a change, from the stored object to the new one; in CEL from `oldSelf` to `self`.

    `breaches` takes the whole objects and returns paths from their root.
    """

    breaches: Callable[[T, T], Iterable[Path]]


def enforce(rules: Iterable[Rule[Any]], value: T) -> T:
    """Return the value, or raise one PydanticCustomError that carries everything it breaks."""
    breaches = [(path, rule.message) for rule in rules for path in rule.breaches(value)]
    if breaches:
        summary = "; ".join(message for _, message in breaches)
        raise PydanticCustomError(BREACH, "{summary}", {"summary": summary, "breaches": breaches})
    return value
