"""Logs as lines of JSON, in which nobody can be found: no path (a link is in it), no body, no address.

Code says what happened in its own words and with `extra`; of an exception, only its kind and where it was raised is
written, for the database and libraries quote what they were given.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

__all__ = ["configure_logging"]


def configure_logging(level: str, style: Literal["json", "console"], stream: TextIO = sys.stderr) -> None:
    """Make the root logger write to this stream, and to nothing else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_json() if style == "json" else logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    handler.addFilter(without_words)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("aiohttp", "asyncio"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def without_words(record: logging.LogRecord) -> bool:
    """Keep of an exception its kind and its frames."""
    if record.exc_info and record.exc_info[0] is not None:
        kind, _, trace = record.exc_info
        frames = "".join(traceback.format_tb(trace))
        record.exc_text, record.exc_info = f"{frames}{kind.__name__}", None
    return True


def _json() -> logging.Formatter:
    return JsonFormatter(
        "%(levelname)s %(name)s %(message)s",
        rename_fields={"levelname": "level", "name": "logger", "exc_info": "exception"},
        timestamp="time",
        json_ensure_ascii=False,
    )
