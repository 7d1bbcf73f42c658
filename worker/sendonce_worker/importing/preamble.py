"""What stands before the first record: a byte order mark, and in CSV the header."""

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .columns import Columns, plan_columns, wanted_columns
from .errors import ImportSourceError, MissingColumnError, SourceUnreadableError
from .lines import LINE_LIMIT
from .looks import foreign_format
from .records import TOO_LONG

_BOM = b"\xef\xbb\xbf"
_NAMES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Preamble:
    """The bytes and lines before the first record, and for CSV the plan that the header makes."""

    size: int
    lines: int
    columns: Columns | None


def read_ndjson_preamble(head: bytes, field: str) -> Preamble:
    """Look at the first bytes of an NDJSON source. Raises `SourceUnreadableError`."""
    problem = foreign_format(head)
    if problem is None and head.removeprefix(_BOM).lstrip()[:1] == b"[":
        problem = "is a JSON array; NDJSON has one object on each line, without brackets and commas around them"
    if problem:
        raise SourceUnreadableError(field, problem)
    return Preamble(len(_BOM) if head.startswith(_BOM) else 0, 0, None)


def read_csv_preamble(head: bytes, channels: Collection[str], field: str, *, secret: bool) -> Preamble:
    """Read the header among the first bytes of a CSV source, of which there are more than `LINE_LIMIT` or all.

    `secret`: names found in it are not repeated. Raises `SourceUnreadableError`, `MissingColumnError`.
    """
    problem = foreign_format(head)
    if problem is None and not head.removeprefix(_BOM).strip():
        problem = "is empty; a CSV source begins with a header, such as id,email,name"
    if problem:
        raise SourceUnreadableError(field, problem)
    names, size, lines = _header(head, field)
    return Preamble(size, lines, check_columns(names, channels, field, secret=secret))


def check_columns(names: list[str], channels: Collection[str], field: str, *, secret: bool = False) -> Columns:
    """The plan for these columns. Raises `MissingColumnError`, `SourceUnreadableError`."""
    try:
        columns = plan_columns(names, channels)
    except ValueError as error:
        problem = "has a column twice, or one without a name" if secret else str(error)
        raise SourceUnreadableError(field, f"its columns cannot be used: {problem}") from None
    if not columns.addresses:
        raise _missing(columns.names, channels, field, secret=secret)
    return columns


def _missing(names: tuple[str, ...], channels: Collection[str], field: str, *, secret: bool) -> ImportSourceError:
    if secret:
        found = f"{len(names)} columns, not named here because the source is a Secret"
    else:
        found = ", ".join(name[:40] for name in names[:_NAMES_SHOWN]) + (", …" if names[_NAMES_SHOWN:] else "")
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
            found += " (columns must be separated by commas)"
    return MissingColumnError(field, wanted_columns(channels), found)


def _header(head: bytes, field: str) -> tuple[list[str], int, int]:
    """Names, bytes and lines of the header; blank lines before it belong to it."""
    start = len(_BOM) if head.startswith(_BOM) else 0
    taken: list[bytes] = []

    def lines() -> Iterator[str]:
        for raw in io.BytesIO(head[start : start + LINE_LIMIT]):
            taken.append(raw)
            yield raw.decode()

    try:
        names = next(names for names in csv.reader(lines(), strict=True) if any(map(str.strip, names)))
    except UnicodeDecodeError:
        raise SourceUnreadableError(field, "the header is not valid UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise SourceUnreadableError(field, f"the header is not valid CSV: {_explain(error)}") from None
    except StopIteration:
        raise SourceUnreadableError(field, "has no header; a CSV source begins with one, such as id,email") from None
    size = start + sum(map(len, taken))
    if size < len(head) and not taken[-1].endswith(b"\n"):
        raise SourceUnreadableError(field, f"the header {TOO_LONG}")
    return names, size, len(taken)


def _explain(error: csv.Error) -> str:
    if str(error).startswith("new-line"):
        return "its lines end with a carriage return alone; save the file with line feeds"
    return str(error)
