"""What pydantic found, in words for the person who wrote the document.

Flows in: a ValidationError, the model, the raw document. Flows out: one `Problem` per mistake, with field and line,
that says what is wrong, what would be right and, where it is short and no secret, what was found.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sendonce_store.spec.base import PATTERN_WORDS, SpecModel
from sendonce_store.spec.http_provider import ENDPOINT_URL, MESSAGE_ID_PATH
from sendonce_store.spec.model_fields import model_at, objects_with, wire_fields
from sendonce_store.spec.named_base import NAMED_PATTERNS
from sendonce_store.spec.nearest import did_you_mean
from sendonce_store.spec.problems import Path, field_name
from sendonce_store.spec.recipients import HTTP_URL, QUIET
from sendonce_store.spec.rules import BREACH
from sendonce_store.spec.s3_source import S3_PATTERNS
from sendonce_store.spec.smtp_provider import HELO, HOST
from sendonce_store.spec.workload import LABEL_VALUE, QUANTITY, QUANTITY_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

__all__ = ["PATTERNS", "findings"]

PATTERNS = PATTERN_WORDS | {
    HTTP_URL: "must be a URL that begins with http:// or https://",
    ENDPOINT_URL: "must be a URL that begins with http:// or https://",
    MESSAGE_ID_PATH: "must be a path such as data.id or messages.0.id, or a header such as header:X-Message-Id",
    HOST: "must be the name or address of a host, without port",
    HELO: "must be one word in ASCII: a host name or an address literal",
    **NAMED_PATTERNS,
    **S3_PATTERNS,
    QUIET: "must be two times of day, such as 21:00-09:00",
    LABEL_VALUE: "must be a label value: letters, digits, '-', '_' and '.', first and last a letter or digit",
    QUANTITY: QUANTITY_WORDS,
}
"""What each pattern of the spec means to a person."""
_LONGEST_ECHO = 40


def findings(error: ValidationError, model: type[SpecModel], *, echo: bool) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for every mistake; `echo` says whether values may be shown."""
    for detail in error.errors(include_url=False):
        path = _path(detail["loc"])
        if _is_echo_of_others(detail):
            continue
        if detail["type"] == BREACH:
            for relative, message in detail["ctx"]["breaches"]:
                yield (*path, *relative), message
        elif detail["type"] == "extra_forbidden":
            yield path, _unknown_field(path, model)
        else:
            yield path, _message(detail, echo=echo)


def _path(location: Path) -> Path:
    # pydantic marks a mistake in a key, not in its value, by one more step
    return location[:-1] if location and location[-1] == "[key]" else location


def _is_echo_of_others(detail: ErrorDetails) -> bool:
    # pydantic counts only the sound entries of a list; the others have problems of their own
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _unknown_field(path: Path, root: type[SpecModel]) -> str:
    name = str(path[-1])
    parent = model_at(root, path[:-1])
    known = wire_fields(parent) if parent else []
    hint = did_you_mean(name, known)
    if not hint and (places := [place for place in objects_with(root, name) if place]):
        hint = f"; it belongs in {field_name(places[0])}"
    return f"unknown field {field_name(path)}{hint or '; known here: ' + ', '.join(known)}"


def _message(detail: ErrorDetails, *, echo: bool) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    found = _found(detail["input"]) if echo else ""
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}{_wrong_type(kind, detail['input'], found)}"
    if kind == "missing":
        return "is required"
    if kind == "enum":
        return _choice(detail, found)
    if kind in _LIMITS:
        return _LIMITS[kind](context) + (found if kind in _BOUNDS else _has(detail["input"]))
    if kind == "string_pattern_mismatch":
        return PATTERNS[context["pattern"]] + found
    return detail["msg"] + (found if kind in _OWN_WITH_VALUE else "")


_TYPES = {
    "bool_type": "true or false",
    "int_type": "an integer",
    "string_type": "a string",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "literal_error": "another value",
}
_OWN_WITH_VALUE = {"timestamp", "timestamp_offset", "timezone", "quantity"}


_BOUNDS = {"greater_than_equal", "less_than_equal"}


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _characters(number: int) -> str:
    return _count(number, "character", "characters")


def _entries(number: int) -> str:
    return _count(number, "entry", "entries")


def _has(value: object) -> str:
    return f" (has {len(value):,})" if isinstance(value, (str, list, tuple, dict)) else ""


_LIMITS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda c: f"must be at least {c['ge']:,}",
    "less_than_equal": lambda c: f"must be at most {c['le']:,}",
    "string_too_short": lambda c: f"must have at least {_characters(c['min_length'])}",
    "string_too_long": lambda c: f"must have at most {_characters(c['max_length'])}",
    "too_short": lambda c: f"must have at least {_entries(c['min_length'])}",
    "too_long": lambda c: f"must have at most {_entries(c['max_length'])}",
}


def _choice(detail: ErrorDetails, found: str) -> str:
    expected = detail["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
    value = detail["input"]
    hint = did_you_mean(value, expected.split(", ")) if isinstance(value, str) else ""
    return f"must be one of {expected}{found}{hint}"


def _wrong_type(kind: str, value: object, found: str) -> str:
    if kind == "string_type":
        return found + _unquoted(value)
    if kind in {"int_type", "bool_type"} and isinstance(value, str):
        return found + ("; remove the quotes" if _looks_like(kind, value) else "")
    return found


def _looks_like(kind: str, value: str) -> bool:
    return value in {"true", "false"} if kind == "bool_type" else value.lstrip("-").isdecimal()


def _unquoted(value: object) -> str:
    # YAML took it for a number or a boolean
    return "; put it in quotes" if isinstance(value, (int, float)) else ""


def _found(value: object) -> str:
    """Show a short value; a longer one may be a template, a list of people or a presigned URL."""
    if isinstance(value, dict):
        return " (got a mapping)"
    if isinstance(value, (list, tuple)):
        return " (got a list)"
    if value is None or isinstance(value, (bool, int, float)):
        return f" (got {json.dumps(value)})"
    if isinstance(value, str) and len(value) <= _LONGEST_ECHO:
        return f" (got {json.dumps(value, ensure_ascii=False)})"
    return ""
