"""`/healthz`, `/readyz` and `/metrics` of a console, on a port that is for operators.

`/readyz` tells whether database and API server answer. A Pod is not taken out of service for it: its pages say what is
away and what goes on, and nobody would see them.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from sendonce_console.console import Console
from sendonce_store.serving import build_ops

__all__ = ["console_ops", "look"]


def console_ops(console: Console) -> web.Application:
    """The application."""

    async def looked() -> str | None:
        return await look(console)

    return build_ops(console.metrics.registry, looked, well="database and API server answer", at_scrape=looked)


async def look(console: Console) -> str | None:
    """What is away now, in words; None: nothing. The metrics are told as well."""
    store, api_server = await asyncio.gather(console.reader.problem(), console.door.problem())
    console.metrics.answers(store=store is None, api_server=api_server is None)
    return "; ".join(found for found in (store, api_server) if found) or None
