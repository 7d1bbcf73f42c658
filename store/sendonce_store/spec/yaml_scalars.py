"""What a plain YAML scalar means to kubectl.

kubectl reads YAML with sigs.k8s.io/yaml, which turns it into JSON by go.yaml.in/yaml/v2. Its rules (resolve.go of
v2.4.2) are followed here; each was compared with that program:

- `yes`, `on`, `y`, `true` and their opposites are booleans, in lower case, Title Case or UPPER CASE;
- there are no sexagesimal numbers and no timestamps: `22:00` and `2026-11-30` are strings;
- integers may be written 0x1F, 0o17, 017, 0b11 and with underscores;
- a whole float such as `1e3` becomes an integer on its way through JSON.
"""

from __future__ import annotations

import math
import re

__all__ = ["Scalar", "key_text", "resolve", "resolve_tagged"]

Scalar = str | int | float | bool | None


def _cases(*words: str) -> set[str]:
    return {form for word in words for form in (word, word.title(), word.upper())}


_CONSTANTS: dict[str, bool | None] = (
    dict.fromkeys(_cases("y", "yes", "true", "on"), True)
    | dict.fromkeys(_cases("n", "no", "false", "off"), False)
    | dict.fromkeys({"", "~", *_cases("null")}, None)
)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<x>[0-9a-fA-F]+)|0[oO]?(?P<o>[0-7]+)|0[bB](?P<b>[01]+)|(?P<d>[1-9][0-9]*|0))"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])_(?=[0-9])")
_BASES = {"x": 16, "o": 8, "b": 2, "d": 10}
_INT64, _UINT64 = -(2**63), 2**64 - 1
# beyond it Go writes a float in JSON with an exponent, and it stays a float
_PLAIN_FLOAT = 1e21

_TAG_PREFIX = "tag:yaml.org,2002:"
_TAGGED: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}


def resolve(text: str) -> Scalar:
    """Return the value of a plain scalar. Raises ValueError for infinities and NaN, which JSON does not have."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _NOT_FINITE.fullmatch(text):
        message = "infinity and NaN are no JSON numbers; write a number, or put it in quotes"
        raise ValueError(message)
    # Go looks for a number only behind a digit or a sign, so that `_1` is a string and `1_` is not
    if text[0] not in "+-.0123456789":
        return text
    # and behind a point it takes underscores only between digits
    return _number(_BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", ""), text)


def _number(plain: str, text: str) -> Scalar:
    found = _INTEGER.fullmatch(plain)
    if found and found.lastgroup:
        whole = int(found["sign"] + found[found.lastgroup], _BASES[found.lastgroup])
        if _INT64 <= whole <= _UINT64:
            return whole
    if not _FLOAT.fullmatch(plain):
        return text
    number = float(plain)
    if math.isinf(number):
        return text
    return int(number) if number.is_integer() and abs(number) < _PLAIN_FLOAT else number


def resolve_tagged(tag: str, text: str) -> Scalar:
    """Return the value of a scalar with a tag such as `!!str`. Raises ValueError for a tag that is not JSON's."""
    name = tag.removeprefix(_TAG_PREFIX)
    if tag == "!" or name == "str":
        return text
    if name not in _TAGGED:
        message = f"the tag {tag.replace(_TAG_PREFIX, '!!')} is not supported; remove it"
        raise ValueError(message)
    value = resolve(text)
    if not isinstance(value, _TAGGED[name]) or (name in {"int", "float"} and isinstance(value, bool)):
        message = f"this is no {name}; remove the tag !!{name}"
        raise ValueError(message)
    return value


def key_text(key: Scalar) -> str:
    """Return a mapping key as JSON has it: text. Raises ValueError for null."""
    if key is None:
        message = "a key must not be empty; put it in quotes"
        raise ValueError(message)
    if isinstance(key, bool):
        return "true" if key else "false"
    return f"{key:g}" if isinstance(key, float) else str(key)
