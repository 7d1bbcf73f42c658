"""Completion of campaign names in the shell: what has been typed in, send keys out. Never an error, never slow."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from sendonce_cli import postmaster
from sendonce_cli.options import StoreChoice, default_data_folder
from sendonce_cli.stores import Store
from sendonce_store.ledger import campaign_names

__all__ = ["complete_campaign"]

_SECONDS = 2.0


def complete_campaign(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Send keys of the store that the command line names; none where that would mean to start a server."""
    given = context.params
    data = Path(given.get("data") or os.environ.get("SENDONCE_DATA") or default_data_folder()).absolute()
    database = given.get("database") or os.environ.get("SENDONCE_DATABASE") or None
    choice = StoreChoice(database, data, given.get("namespace") or os.environ.get("SENDONCE_NAMESPACE") or "default")
    if database is None and postmaster.read(choice.embedded_root / "data") is None:
        return []
    try:
        names = asyncio.run(asyncio.wait_for(_names(choice, typed), _SECONDS))
    except Exception:  # noqa: BLE001 - a shell that waits for words must get none rather than a traceback
        return []
    return [CompletionItem(name) for name in names]


async def _names(choice: StoreChoice, typed: str) -> list[str]:
    async with Store(choice) as store, store.connection() as conn:
        return await campaign_names(conn, choice.namespace, typed)
