"""OpenAPI 3.1 from the routes and their records: no page of a description is written by hand. Pure."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sendonce_console.web.handling import NEEDED
from sendonce_console.web.routes import Route
from sendonce_store.spec.base import wire_name

Schema = dict[str, Any]
_SCALARS: Mapping[object, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bytes: {"type": "string", "description": "In hex."},
    datetime: {"type": "string", "format": "date-time"},
    type(None): {"type": "null"},
}
_PROBLEM: Schema = {
    "type": "object",
    "description": "RFC 9457: what is wrong; `detail` names the field and the fix.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def description(routes: Iterable[Route]) -> Schema:
    """The document, of the routes of the API among them."""
    schemas: dict[str, Schema] = {"Problem": _PROBLEM}
    paths: dict[str, Schema] = {}
    for route in (one for one in routes if one.is_api):
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sendonce console",
            "version": "1",
            "description": "What happened to campaigns and people, and the levers, by your rights in the cluster.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": dict(sorted(schemas.items())),
        },
    }


def _operation(route: Route, schemas: dict[str, Schema]) -> Schema:
    needed = NEEDED.get(route.needs, "be signed in")
    said = " ".join((route.handler.__doc__ or "").split())
    found: Schema = {
        "summary": said,
        "description": f"It takes the right to {needed}." if route.needs in NEEDED else "It takes to be signed in.",
        "parameters": _parameters(route),
        "responses": {
            "200": {"description": "Found.", "content": _content(schema_of(route.returns, schemas))},
            "default": {
                "description": "A problem.",
                "content": _content(_reference("Problem"), "application/problem+json"),
            },
        },
    }
    if route.takes is not None:
        found["requestBody"] = {"required": True, "content": _content(schema_of(route.takes, schemas))}
    return found


def _parameters(route: Route) -> list[Schema]:
    text = {"type": "string"}
    found: list[Schema] = [
        {"name": name, "in": "path", "required": True, "schema": text} for name in re.findall(r"{(\w+)}", route.path)
    ]
    return found + [
        {"name": name, "in": "query", "description": said, "schema": text} for name, said in route.query.items()
    ]


def _content(schema: Schema, kind: str = "application/json") -> Schema:
    return {kind: {"schema": schema}}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def schema_of(kind: Any, schemas: dict[str, Schema]) -> Schema:  # noqa: ANN401 - a type, of whatever kind
    """The schema of a type; records go into `schemas` by their names. TypeError for one that has none."""
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if kind in (Any, object, None):
        return {}
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind, schemas)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "enum": [one.value for one in kind]}
    return _composed(kind, schemas)


def _composed(kind: Any, schemas: dict[str, Schema]) -> Schema:  # noqa: ANN401
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(one, schemas) for one in parts]}
    if origin is Literal:
        return {"type": "string", "enum": list(parts)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(parts[1], schemas)}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return {"type": "array", "items": schema_of(parts[0], schemas)}
    message = f"{kind!r} has no place in the description of the API"
    raise TypeError(message)


def _record(kind: type[Any], schemas: dict[str, Schema]) -> Schema:
    name = kind.__name__
    if name not in schemas:
        schemas[name] = {}  # a record may hold itself
        hints = get_type_hints(kind)
        given = [one for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
        schemas[name] = {
            "type": "object",
            "description": " ".join((kind.__doc__ or "").split()),
            "required": [wire_name(one.name) for one in given],
            "properties": {wire_name(one.name): schema_of(hints[one.name], schemas) for one in fields(kind)},
        }
    return _reference(name)
