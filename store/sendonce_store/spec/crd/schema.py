"""A model as a structural schema, the dialect of JSON Schema that the API server takes in a CRD.

Flows in: what pydantic says of a model (JSON Schema 2020-12 with `$defs`). Flows out: the same with references
written out, without `anyOf` for what may be absent, and with the extensions of Kubernetes. Source: "Specifying a
structural schema" of the Kubernetes documentation.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from sendonce_store.spec.base import PATTERN_WORDS, SpecModel

__all__ = ["Schema", "structural"]

Schema: TypeAlias = dict[str, Any]

_KEPT: Final = (
    "type",
    "description",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "anyOf",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "required",
)
"""What is taken over as it is, in the order in which a person reads it."""

_ANY_JSON: Schema = {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}
_LARGEST_INT32: Final = 2**31 - 1


def structural(model: type[SpecModel]) -> Schema:
    """Return the structural schema of a model, without CEL rules over several fields."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    return _written_out(schema, schema.get("$defs", {}))


def _written_out(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    schema = _resolved(schema, definitions)
    if not schema:
        return dict(_ANY_JSON)
    if schema.get("x-kubernetes-int-or-string"):
        return _int_or_string(schema)
    result = {key: copy.deepcopy(schema[key]) for key in _KEPT if key in schema} | _in_other_words(schema)
    if "properties" in schema:
        result["properties"] = {name: _written_out(field, definitions) for name, field in schema["properties"].items()}
    if "items" in schema:
        result["items"] = _written_out(schema["items"], definitions)
    if (value := _value_of_map(schema)) is not None:
        result["additionalProperties"] = entry = _written_out(value, definitions)
        result |= _key_rule(schema, entry)
    return result


def _resolved(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Put what is referred to in the place of the reference; what stands beside it counts more."""
    beside = {key: value for key, value in schema.items() if key not in {"$ref", "anyOf"}}
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _described(_resolved(definitions[name], definitions), beside)
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        return _described(_resolved(choices[0], definitions), beside)
    return schema


def _described(schema: Schema, beside: Schema) -> Schema:
    """Describe an object by what its field says and then, as far as it is more, by what its model says."""
    if "description" not in beside or schema.get("type") != "object":
        return schema | beside
    said, more = _paragraphs(beside["description"]), _paragraphs(schema["description"])
    text = [part for part in said if not _begins(more, part)]
    text += [part for part in more if not _begins(said, part) or part in said]
    return schema | beside | {"description": "\n\n".join(text)}


def _begins(longer: list[str], part: str) -> bool:
    """Whether one of the paragraphs says the same and more."""
    return any(other.startswith(part.rstrip(".")) for other in longer)


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n")]


def _in_other_words(schema: Schema) -> Schema:
    """Return what the API server wants to be told in its own way."""
    result: Schema = {}
    if schema.get("type") == "integer":
        result["format"] = "int32" if schema.get("maximum", _LARGEST_INT32 + 1) <= _LARGEST_INT32 else "int64"
    elif "format" in schema:
        result["format"] = schema["format"]
    if schema.get("type") == "array":
        result["x-kubernetes-list-type"] = schema.get("x-kubernetes-list-type", "atomic")
    if (default := _spelt_out(schema.get("default"))) is not None:
        result["default"] = default
    return result


def _spelt_out(default: object) -> object:
    """Drop what is absent or empty: an object that is stored shows what was decided for it, and no more."""
    if isinstance(default, dict):
        entries = {key: _spelt_out(value) for key, value in default.items()}
        return {key: value for key, value in entries.items() if value is not None} or None
    return None if default in ([], "") else copy.deepcopy(default)


def _int_or_string(schema: Schema) -> Schema:
    choices = {choice["type"]: choice for choice in schema["anyOf"]}
    bounds = {key: value for choice in choices.values() for key, value in choice.items() if key != "type"}
    anything = {"anyOf": [{"type": name} for name in choices], "x-kubernetes-int-or-string": True}
    return anything | {key: bounds[key] for key in _KEPT if key in bounds}


# --- maps ------------------------------------------------------------------------------------------------------------
def _value_of_map(schema: Schema) -> Schema | None:
    if patterns := schema.get("patternProperties"):
        (value,) = patterns.values()
        return dict(value)
    value = schema.get("additionalProperties")
    return value if isinstance(value, dict) else None


def _key_rule(schema: Schema, value: Schema) -> Schema:
    """Keys of a map have no schema of their own: a rule over all of them stands in for it.

    There is none for a map of any JSON, of which CEL can see nothing, not even the keys.
    """
    conditions = list(_key_conditions(schema))
    if not conditions or value == _ANY_JSON:
        return {}
    rule = f"self.all(key, {' && '.join(condition for condition, _ in conditions)})"
    message = "each key " + " and ".join(words for _, words in conditions)
    return {"x-kubernetes-validations": [{"rule": rule, "message": message}]}


def _key_conditions(schema: Schema) -> Iterator[tuple[str, str]]:
    bounds = schema.get("propertyNames", {})
    if "maxLength" in bounds:
        least, most = bounds.get("minLength", 0), bounds["maxLength"]
        yield f"key.size() >= {least} && key.size() <= {most}", f"must have {least} to {most} characters"
    for pattern in schema.get("patternProperties", ()):
        yield f"key.matches({json.dumps(pattern)})", PATTERN_WORDS[pattern]
