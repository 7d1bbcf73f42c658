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
from typing import TextIO

from sendonce_store import logs
from sendonce_store.environment import LogStyle
from sendonce_worker.redaction import Redactor

__all__ = ["LogStyle", "configure_logging", "log_fields"]

_fields: ContextVar[Mapping[str, object]] = ContextVar("sendonce_log_fields", default={})  # noqa: B039  # never written


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
    logs.configure_logging(level, style, filters=(_add_fields, redactor), stream=stream)


def _add_fields(record: logging.LogRecord) -> bool:
    for name, value in _fields.get().items():
        record.__dict__.setdefault(name, value)
    return True
