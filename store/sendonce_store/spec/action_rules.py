"""The rules of an action that look at more than one field, and their table; see `campaign_rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.action import ActionSpec
    from sendonce_store.spec.problems import Path


_RETRIED = ("Failed", "Expired", "Cancelled", "Suppressed")
_RESOLVED = ("Uncertain",)


def _misplaced_states(spec: ActionSpec, allowed: tuple[str, ...]) -> Iterator[Path]:
    for no, state in enumerate(spec.deliveries.states if spec.deliveries else ()):
        if state not in allowed:
            yield ("deliveries", "states", no)


def retry_takes_what_was_not_sent(spec: ActionSpec) -> Iterator[Path]:
    """An uncertain delivery may have reached the person: only Resolve may touch it."""
    if spec.type == "Retry":
        yield from _misplaced_states(spec, _RETRIED)


def resolve_takes_the_uncertain(spec: ActionSpec) -> Iterator[Path]:
    """Every other state is certain."""
    if spec.type == "Resolve":
        yield from _misplaced_states(spec, _RESOLVED)


def resolve_says_as_what(spec: ActionSpec) -> Iterator[Path]:
    """A person says what became of the deliveries; no other action does."""
    if (spec.type == "Resolve") != (spec.resolve_as is not None):
        yield ("resolveAs",)


def deliveries_only_where_used(spec: ActionSpec) -> Iterator[Path]:
    """Promote and Resume concern the whole campaign."""
    if spec.type in {"Promote", "Resume"} and spec.deliveries is not None:
        yield ("deliveries",)


def suppress_says_whom(spec: ActionSpec) -> Iterator[Path]:
    """Nobody is kept from all messages because a list was forgotten."""
    chosen = spec.deliveries
    if spec.type in {"Suppress", "Unsuppress"} and not (chosen and (chosen.recipients or chosen.states)):
        yield ("deliveries",)


def _only_states(kind: str, allowed: tuple[str, ...]) -> str:
    return (
        f"self.type != '{kind}' || !has(self.deliveries) || !has(self.deliveries.states) || "
        f"self.deliveries.states.all(state, state in {list(allowed)})"
    )


ACTION_RULES: tuple[Rule[ActionSpec], ...] = (
    Rule(
        name="retry-takes-what-was-not-sent",
        scope="spec",
        field="deliveries.states[*]",
        message="must be Failed, Expired, Cancelled or Suppressed with type Retry; for Uncertain use an action of type "
        "Resolve",
        cel=_only_states("Retry", _RETRIED),
        breaches=retry_takes_what_was_not_sent,
    ),
    Rule(
        name="resolve-takes-the-uncertain",
        scope="spec",
        field="deliveries.states[*]",
        message="must be Uncertain with type Resolve; for other states use an action of type Retry",
        cel=_only_states("Resolve", _RESOLVED),
        breaches=resolve_takes_the_uncertain,
    ),
    Rule(
        name="resolve-says-as-what",
        scope="spec",
        field="resolveAs",
        message="is required with type Resolve (Sent, Failed or Resend), and not allowed with other types",
        cel="has(self.resolveAs) == (self.type == 'Resolve')",
        breaches=resolve_says_as_what,
    ),
    Rule(
        name="deliveries-only-where-used",
        scope="spec",
        field="deliveries",
        message="is not allowed with Promote and Resume, which concern the whole campaign; remove it",
        cel="!has(self.deliveries) || !(self.type in ['Promote', 'Resume'])",
        breaches=deliveries_only_where_used,
    ),
    Rule(
        name="suppress-says-whom",
        scope="spec",
        field="deliveries",
        message="must name recipients or states with types Suppress and Unsuppress",
        cel="!(self.type in ['Suppress', 'Unsuppress']) || (has(self.deliveries) && "
        "((has(self.deliveries.recipients) && size(self.deliveries.recipients) > 0) || "
        "(has(self.deliveries.states) && size(self.deliveries.states) > 0)))",
        breaches=suppress_says_whom,
    ),
)
