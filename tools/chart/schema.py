"""values.schema.json, by which helm refuses wrong values with their names: values in, JSON out. Pure."""

import json
from collections.abc import Sequence
from typing import Any

from tools.chart.comments import Value
from tools.chart.shapes import shape

Schema = dict[str, Any]


def schema(found: Sequence[Value]) -> Schema:
    """Return the schema of all values; what is not among them is refused."""
    root = _object()
    root["$schema"] = "http://json-schema.org/draft-07/schema#"
    root["title"] = "Values of the chart sendonce"
    for value in found:
        _put(root, value)
    # where the chart is a part of another one
    root["properties"]["global"] = {"type": "object", "description": "Values that a parent chart shares."}
    return root


def _object() -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def _put(root: Schema, value: Value) -> None:
    at = root
    for name in value.path[:-1]:
        at = at["properties"].setdefault(name, _object())
    at["properties"][value.path[-1]] = {**shape(value), "description": value.description, "default": value.default}


def text(found: Sequence[Value]) -> str:
    """Return the file."""
    return json.dumps(schema(found), indent=2, ensure_ascii=False) + "\n"
