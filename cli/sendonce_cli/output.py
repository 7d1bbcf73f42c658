"""What a command prints: data in; a table for people, JSON or YAML for scripts out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import click
import yaml
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from sendonce_store.plain_data import as_data

__all__ = ["as_data", "console", "emit", "moment", "table"]

# tables in a pipe are not wrapped: programs read lines
_PIPE_WIDTH = 4000


def emit(data: object, form: str, shown: Callable[[], RenderableType]) -> None:
    """Print `data` as JSON or YAML, or what `shown` makes of it."""
    if form == "json":
        click.echo(json.dumps(as_data(data), ensure_ascii=False, indent=2))
    elif form == "yaml":
        click.echo(yaml.safe_dump(as_data(data), sort_keys=False, allow_unicode=True), nl=False)
    else:
        console().print(shown())


def console(*, stderr: bool = False) -> Console:
    """A console on standard output (or error) as it is now; colours only on a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=width is not None)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table without lines, as kubectl prints it; a column whose title begins with `#` holds numbers."""
    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        number = column.startswith("#")
        shown.add_column(column.removeprefix("#"), justify="right" if number else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(cell if isinstance(cell, Text) else Text(_cell(cell)) for cell in row))
    return shown


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime):
        return moment(value)
    return str(value)


def moment(when: datetime | None) -> str:
    """A time as people here read it: local, to the second, with the date unless it is today."""
    if when is None:
        return ""
    local = when.astimezone()
    if local.date() == datetime.now().astimezone().date():
        return local.strftime("%H:%M:%S")
    return local.strftime("%Y-%m-%d %H:%M:%S")
