"""Named queries: `sql/*.sql` in, a mapping from name to statement out.

A file holds statements headed by `-- name: claim_batch`; the comment lines that follow say why it is written as it
is. Statements take psycopg's named parameters and are never put together from strings.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


def parse(text: str) -> dict[str, LiteralString]:
    """Split one file's text into its named statements; raises ValueError for a name given twice."""
    parts = _NAME.split(text)
    named: dict[str, LiteralString] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        if name in named:
            message = f"query {name} is defined twice"
            raise ValueError(message)
        # the text is a file of this package, so it is as literal as a string in the source
        named[name] = cast("LiteralString", body.strip().removesuffix(";"))
    return named


@cache
def load(stem: str) -> dict[str, LiteralString]:
    """Read the named statements of `sql/<stem>.sql`."""
    return parse((files("sendonce_store") / "sql" / f"{stem}.sql").read_text("utf-8"))
