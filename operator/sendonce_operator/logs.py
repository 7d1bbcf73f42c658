"""Logs as lines of JSON on standard output, kopf's among them."""

from __future__ import annotations

import logging
import sys

from pythonjsonlogger.json import JsonFormatter

FIELDS = "%(asctime)s %(levelname)s %(name)s %(message)s"


def configure_logging(level: str) -> None:
    """One handler for all; libraries speak up only when something is wrong."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter(FIELDS))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("kopf", "aiohttp", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
