"""Structured logs that never print a secret, and no full address unless asked to.

Flows in: log records from the whole process, with the fields of `log_fields` around them. Flows out: one line per
record on a stream, as JSON or for people. On the way, `Redactor` takes out what must not be there: in the message,
its arguments, extra fields and tracebacks alike. Bodies of messages are not recognisable afterwards: no code may log
them in the first place.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

from sendonce_worker.redaction import Redactor

__all__ = ["LogStyle", "configure_logging", "log_fields"]

LogStyle = Literal["json", "console"]

_fields: ContextVar[Mapping[str, object]] = ContextVar("sendonce_log_fields", default={})  # noqa: B039  # never written

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


@contextmanager
def log_fields(**fields: object) -> Iterator[None]:
    """Add fields (campaign="spring", batch=7) to every record of this task and its children, until left."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)


def configure_logging(level: str, style: LogStyle, redactor: Redactor, stream: TextIO = sys.stderr) -> None:
    """Make the root logger write to this stream, and to nothing else. ValueError for an unknown level."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_json_formatter() if style == "json" else _ConsoleFormatter())
    handler.addFilter(_add_fields)
    handler.addFilter(redactor)
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


def _add_fields(record: logging.LogRecord) -> bool:
    for name, value in _fields.get().items():
        record.__dict__.setdefault(name, value)
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
        fields = (f"{name}={value}" for name, value in record.__dict__.items() if name not in _STANDARD)
        return "  ".join([super().formatMessage(record), *fields])
