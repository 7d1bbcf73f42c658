"""PostgreSQL array literals for the hot path: columns of values in, `{1,2,NULL}` out.

A turn carries a dozen arrays; the client library's own way to write one looks at each element's type and quotes it with
regular expressions, several microseconds each. See the manual, "Array Input and Output Syntax"; the statements say the
type by a cast.
"""

from __future__ import annotations

from collections.abc import Iterable


def numbers(values: Iterable[float | None]) -> str:
    """The literal of an array of numbers or booleans."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def words(values: Iterable[str]) -> str:
    """The literal of an array of plain words, such as states: letters and underscores, and none of them `null`."""
    return "{" + ",".join(values) + "}"


def texts(values: Iterable[str | None]) -> str:
    """The literal of an array of any texts. Like every text parameter it can't hold a NUL character."""
    return "{" + ",".join(["NULL" if value is None else _quoted(value) for value in values]) + "}"


def octets(values: Iterable[bytes]) -> str:
    """The literal of an array of `bytea`, in hex."""
    return "{" + ",".join([f'"\\\\x{value.hex()}"' for value in values]) + "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
