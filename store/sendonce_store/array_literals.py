"""PostgreSQL array literals for the hot path: columns of values in, `{1,2,NULL}` out.

A turn carries a dozen arrays; the client library's own way to write one looks at each element's type. See the manual,
"Array Input and Output Syntax"; the statements say the type by a cast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def numbers(values: Iterable[float | None]) -> str:
    """The literal of an array of numbers or booleans."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def texts(values: Sequence[str | None]) -> str | Sequence[str | None]:
    """The literal of an array of texts if it holds nothing but NULL, as most do; else the array itself."""
    return "{" + ",".join(["NULL"] * len(values)) + "}" if not any(values) and "" not in values else values
