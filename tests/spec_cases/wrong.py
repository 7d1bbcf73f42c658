"""A document that is sound, made wrong in one place at a time, by what its schema says.

Flows in: a document and the structural schema of its kind. Flows out: the same document with one value past a bound,
of another type, unknown or missing, and what was done where.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

__all__ = ["wrong_ones"]

Object = dict[str, Any]
Deed = tuple[str, Object]


def wrong_ones(document: Object, schema: Object) -> Iterator[Deed]:
    """Yield (place: deed, document) for everything below `spec` that can be made wrong."""
    spec = schema["properties"]["spec"]
    for place, deed, value in _below(document["spec"], spec, "spec"):
        yield f"{place}: {deed}", document | {"spec": value}


def _below(value: Any, schema: Object, place: str) -> Iterator[tuple[str, str, Any]]:
    for deed, wrong in _instead(value, schema):
        yield place, deed, wrong
    for key, entry, inner in _entries(value, schema):
        for where, deed, wrong in _below(entry, inner, f"{place}{key if isinstance(key, str) else [key]}"):
            changed = copy.copy(value)
            changed[key.removeprefix(".") if isinstance(key, str) else key] = wrong
            yield where, deed, changed


def _entries(value: Any, schema: Object) -> Iterator[tuple[str | int, Any, Object]]:
    if isinstance(value, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, entry in value.items():
            if (inner := fields.get(name, others)) and "x-kubernetes-preserve-unknown-fields" not in inner:
                yield f".{name}", entry, inner
    elif isinstance(value, list):
        yield from ((no, entry, schema["items"]) for no, entry in enumerate(value))


def _instead(value: Any, schema: Object) -> Iterator[tuple[str, Any]]:
    """What a value can be replaced by so that it is wrong."""
    if "anyOf" in schema:
        yield from (("a truth", True), ("a fraction", 0.5), ("no quantity", "much"), ("below its least", -1))
        return
    yield "of another type", "x" if schema["type"] in {"object", "array", "integer", "boolean"} else ["x"]
    if schema["type"] != "string":
        yield "of yet another type", ["x"] if schema["type"] != "array" else {"x": "y"}
    yield from _past_its_bounds(value, schema)
    if schema["type"] == "object":
        yield from _of_objects(value, schema)


def _past_its_bounds(value: Any, schema: Object) -> Iterator[tuple[str, Any]]:
    if "enum" in schema:
        yield from (("not among its values", "Nonsense"), ("in lower case", str(value).lower() + "x"))
    if "pattern" in schema:
        yield "not of its form", " "
    for bound, step in (("minimum", -1), ("maximum", 1)):
        if bound in schema:
            yield f"past its {bound}", schema[bound] + step
    if "maximum" in schema:
        yield "a fraction", schema["minimum"] + 0.5
    if "maxLength" in schema:
        yield "too long", "a" * (schema["maxLength"] + 1)
    if schema.get("minLength"):
        yield "empty", ""
    if "maxItems" in schema:
        yield "too many", [value[0]] * (schema["maxItems"] + 1)
    if schema.get("minItems"):
        yield "none", []


def _of_objects(value: Object, schema: Object) -> Iterator[tuple[str, Any]]:
    if "maxProperties" in schema:
        entry = next(iter(value.values()))
        yield "too many", {f"k{no}": entry for no in range(schema["maxProperties"] + 1)}
    if "properties" in schema:
        yield "an unknown field", value | {"surprise": "x"}
    for name in schema.get("required", ()):
        yield f"without {name}", {key: entry for key, entry in value.items() if key != name}
