"""The rules of `rule_tables`, put into a structural schema at their scopes."""

from __future__ import annotations

from itertools import chain

from sendonce_store.spec.base import SpecModel
from sendonce_store.spec.crd.schema import Schema
from sendonce_store.spec.rule_tables import RULES, TRANSITIONS
from sendonce_store.spec.rules import RuleRow

__all__ = ["validation", "with_rules"]


def with_rules(schema: Schema, model: type[SpecModel]) -> Schema:
    """Return the schema with the rules of its kind, in the order of the tables. Raises KeyError for a wrong scope."""
    for rule in chain(RULES[model], TRANSITIONS[model]):
        _at(schema, rule.scope).setdefault("x-kubernetes-validations", []).append(validation(rule))
    return schema


def _at(schema: Schema, scope: str) -> Schema:
    for step in filter(None, scope.split(".")):
        name, entry, _ = step.partition("[*]")
        schema = schema["properties"][name]
        schema = schema["items"] if entry else schema
    return schema


def validation(rule: RuleRow) -> dict[str, str]:
    """Return the entry of `x-kubernetes-validations`."""
    entry = {"rule": rule.cel, "message": rule.sentence}
    return entry | {"fieldPath": rule.field_path} if rule.field_path else entry
