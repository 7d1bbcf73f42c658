"""Logs of every program: records in, one line each on a stream out, as JSON or for people.

What must not be in them differs. A worker knows its secrets, and masks addresses. Programs that serve people keep
nothing in which anybody can be found: `without_words` is their filter, and no code of theirs logs a path, a body or an
address in the first place.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TextIO

from pythonjsonlogger.json import JsonFormatter

from sendonce_store.environment import LogStyle

__all__ = ["QUIET", "STANDARD_FIELDS", "configure_logging", "without_words"]

Filter = logging.Filter | Callable[[logging.LogRecord], bool]

STANDARD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
"""What every record has; the others are fields that somebody gave with `extra`."""

QUIET = ("aiohttp", "asyncio")
"""Libraries that speak up only when something is wrong."""

# ours say only what is in the code; the pool says why no connection comes, which names hosts and logins, and nobody
_TRUSTED = ("sendonce_", "psycopg.pool")


def configure_logging(
    level: str,
    style: LogStyle,
    *,
    filters: Sequence[Filter] = (),
    stream: TextIO = sys.stderr,
    quiet: Sequence[str] = QUIET,
) -> None:
    """Make the root logger write to this stream, and to nothing else. ValueError for an unknown level.

    `filters`: what each record passes, in order, before it is written.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_json_formatter() if style == "json" else _ConsoleFormatter())
    for one in filters:
        handler.addFilter(one)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in quiet:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def without_words(record: logging.LogRecord) -> bool:
    """Keep of an exception its kind and its frames, and of a library's record what its code says.

    Databases and libraries quote what they were given: an address is in there sooner or later.
    """
    if record.exc_info and record.exc_info[0] is not None:
        kind, _, trace = record.exc_info
        frames = "".join(traceback.format_tb(trace))
        record.exc_text, record.exc_info = f"{frames}{kind.__name__}", None
    if not record.name.startswith(_TRUSTED):
        # the event loop puts the exception of a task nobody waited for into lines below the first
        record.msg, record.args = str(record.msg).partition("\n")[0], None
    return True


def _json_formatter() -> logging.Formatter:
    return JsonFormatter(
        "%(levelname)s %(name)s %(message)s",
        rename_fields={"levelname": "level", "name": "logger", "exc_info": "exception"},
        timestamp="time",
        json_ensure_ascii=False,
    )


class _ConsoleFormatter(logging.Formatter):
    """For people: time, level, message, then the fields as name=value; a traceback follows on its own lines."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # the base class's name
        fields = (f"{name}={value}" for name, value in record.__dict__.items() if name not in STANDARD_FIELDS)
        return "  ".join([super().formatMessage(record), *fields])
