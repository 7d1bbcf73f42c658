"""The rules of an action that look at more than one field, and their table; see `campaign_rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.action import ActionSpec
    from sendonce_store.spec.problems import Path


def _misplaced_states(spec: ActionSpec, allowed: frozenset[str]) -> Iterator[Path]:
    for no, state in enumerate(spec.deliveries.states if spec.deliveries else ()):
        if state not in allowed:
            yield ("deliveries", "states", no)


def retry_takes_what_was_not_sent(spec: ActionSpec) -> Iterator[Path]:
    """An uncertain delivery may have reached the person: only Resolve may touch it."""
    if spec.type == "Retry":
        yield from _misplaced_states(spec, frozenset({"Failed", "Expired", "Cancelled"}))


def resolve_takes_the_uncertain(spec: ActionSpec) -> Iterator[Path]:
    """Every other state is certain."""
    if spec.type == "Resolve":
        yield from _misplaced_states(spec, frozenset({"Uncertain"}))


def resolve_says_as_what(spec: ActionSpec) -> Iterator[Path]:
    """A person says what became of the deliveries; no other action does."""
    if (spec.type == "Resolve") != (spec.resolve_as is not None):
        yield ("resolveAs",)


def deliveries_only_where_used(spec: ActionSpec) -> Iterator[Path]:
    """Promote and Resume concern the whole campaign."""
    if spec.type in {"Promote", "Resume"} and spec.deliveries is not None:
        yield ("deliveries",)


ACTION_RULES: tuple[Rule[ActionSpec], ...] = (
    Rule(
        "retry-takes-what-was-not-sent",
        "spec",
        "Retry takes Failed, Expired and Cancelled; for Uncertain use an action of type Resolve",
        retry_takes_what_was_not_sent,
    ),
    Rule(
        "resolve-takes-the-uncertain",
        "spec",
        "Resolve takes only Uncertain; for other states use an action of type Retry",
        resolve_takes_the_uncertain,
    ),
    Rule(
        "resolve-says-as-what",
        "spec",
        "is required with type Resolve (Sent, Failed or Resend), and not allowed with other types",
        resolve_says_as_what,
    ),
    Rule(
        "deliveries-only-where-used",
        "spec",
        "is not allowed with Promote and Resume, which concern the whole campaign; remove it",
        deliveries_only_where_used,
    ),
)
