"""What is printed: objects in; tables as kubectl prints them, JSON and YAML out. Pure, but for `emit`.

Whatever comes from outside (names, a far end's words) loses its control characters on the way: a terminal obeys those.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import click

__all__ = ["FORMS", "Columns", "age", "clean", "emit", "field", "moment", "names", "table", "when"]

FORMS = ("wide", "json", "yaml", "name")
_GAP = "   "
_NARROWEST = 7
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_JSON_UNSAFE = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def emit(output: str | None, data: Mapping[str, Any], shown: Callable[[], str], kind: str = "") -> None:
    """Print an object as JSON, YAML, its name (`kind/name`), or what `shown` makes of it."""
    if output == "json":
        click.echo(as_json(data))
    elif output == "yaml":
        click.echo(as_yaml(data), nl=False)
    elif output == "name":
        click.echo("\n".join(names(data, kind)))
    else:
        click.echo(shown())


def names(data: Mapping[str, Any], kind: str) -> list[str]:
    """`kind/name` of an object, or of each of a list; a delivery has the name by which orders take its recipient."""
    found = data["items"] if isinstance(data.get("items"), list) else [data]
    return [f"{kind}/{clean(str(field(one, 'metadata.name') or one.get('recipient') or ''))}" for one in found]


def as_json(data: object) -> str:
    """As kubectl indents it."""
    return _JSON_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(data, ensure_ascii=False, indent=4))


def as_yaml(data: object) -> str:
    """As kubectl writes it: keys in order, no document marker."""
    import yaml  # noqa: PLC0415 - it takes a tenth of a second, and few ask for YAML

    text: str = yaml.safe_dump(data, sort_keys=True, allow_unicode=True, width=1000)
    if _JSON_UNSAFE.search(text):
        text = yaml.safe_dump(data, sort_keys=True, allow_unicode=False, width=1000)
    return text


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns side by side, as wide as their longest cell; the last one is not filled up."""
    lines = [list(titles), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_joined(line, widths) for line in lines)


class Columns:
    """Lines of a table that is not known to its end: columns keep their width, and grow with what comes."""

    def __init__(self, titles: Sequence[str]) -> None:
        """`head` is the first line."""
        self._widths = [max(_NARROWEST, _width(title)) for title in titles]
        self.head = self.line(titles)

    def line(self, row: Sequence[object]) -> str:
        """One line."""
        cells = [_cell(value) for value in row]
        self._widths = [max(width, _width(cell)) for width, cell in zip(self._widths, cells, strict=True)]
        return _joined(cells, self._widths)


def _joined(line: Sequence[str], widths: Sequence[int]) -> str:
    filled = [cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
    return _GAP.join([*filled[:-1], line[-1]]).rstrip()


def _cell(value: object) -> str:
    if value is None or value == "":
        return "<none>"
    return clean(str(value))


def _width(text: str) -> int:
    """Columns of a terminal: East Asian wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def clean(text: str) -> str:
    """One line without what a terminal would obey."""
    return _UNSAFE.sub(lambda found: " " if found[0] in "\t\r\n" else "\ufffd", text)


def field(data: Mapping[str, Any], path: str, default: Any = None) -> Any:  # noqa: ANN401 - JSON
    """`field(o, "status.deliveries.sent")`; the default where a part of the path is not there."""
    found: Any = data
    for part in path.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return default
        found = found[part]
    return found


def when(text: str | None) -> datetime | None:
    """A time as Kubernetes writes it; None for none, or for what is no time."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def moment(text: str | None) -> str:
    """A time for people: local, to the second."""
    found = when(text)
    return found.astimezone().strftime("%Y-%m-%d %H:%M:%S") if found else text or ""


def age(began: datetime | None, now: datetime) -> str:
    """How long ago, as kubectl says it: 45s, 5m10s, 3h20m, 2d4h, 40d."""
    if began is None:
        return "<unknown>"
    return duration(now - began)


_UNITS = (("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("y", 31_536_000))
# below so many of a unit, and the next smaller one is told with it; and below so many of the unit at all
_BOTH = {"m": 10, "h": 8, "d": 8, "y": 8}
_ALONE = {"s": 120, "m": 180, "h": 48, "d": 730}


def duration(span: timedelta) -> str:
    """As `duration.HumanDuration` of apimachinery: two units while the larger one is small."""
    seconds = max(0, int(span.total_seconds()))
    fitting = (unit for unit in _UNITS if seconds < _ALONE.get(unit[0], math.inf) * unit[1])
    name, length = next(fitting)
    whole, rest = divmod(seconds, length)
    if whole >= _BOTH.get(name, 0):
        return f"{whole}{name}"
    smaller, size = _UNITS[[unit[0] for unit in _UNITS].index(name) - 1]
    return f"{whole}{name}{rest // size}{smaller}" if rest // size else f"{whole}{name}"
