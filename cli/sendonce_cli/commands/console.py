"""`sendonce console`: the pages of the console for a local run, on the loopback interface, without a cluster."""

from __future__ import annotations

import asyncio
import secrets
import webbrowser

import click

from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import StoreChoice, gateway_option, store_options
from sendonce_cli.stores import Store
from sendonce_console.access.local import LocalDoor
from sendonce_console.levers.local import LocalLevers
from sendonce_console.main import furnish, serve
from sendonce_console.settings import ConsoleSettings

__all__ = ["console_command"]

_EPILOG = """\b
It shows all namespaces of the store. Whoever has the whole address with its token may see and do
everything, so keep it to yourself; another start makes another token.

\b
Examples:
  sendonce console
  sendonce console --open
  sendonce console --port 9000 --database postgresql://owner@db/sendonce

\b
Exit codes: 0 stopped, 2 wrong input, or the port is taken, 3 the database failed, 4 there is no store.
"""
_HOST = "127.0.0.1"


@click.command("console", epilog=_EPILOG)
@click.option("--port", type=click.IntRange(0, 65_535), default=8642, show_default=True, help="Port; 0: any free one.")
@click.option("--open", "show", is_flag=True, help="Open the page in your browser.")
@gateway_option
@store_options
def console_command(*, port: int, show: bool, gateway: str | None, store: StoreChoice) -> int:
    """Serve the console on this machine: campaigns, people, dead letters and levers in a browser. Ctrl-C ends it."""
    return asyncio.run(_serve(store, port, gateway, show=show))


async def _serve(choice: StoreChoice, port: int, gateway: str | None, *, show: bool) -> int:
    async with Store(choice) as store:
        if not store.exists:
            hint = "`sendonce run` makes one; or name a database with --database"
            raise CliError(f"there is no store in {choice.data}: {hint}", Exit.NOT_FOUND)
        if choice.database is None:
            await store.migrate()
        async with store.connection():
            pass  # it can be used, and its schema is this program's
        await _serve_store(await store.dsn(), port, gateway, show=show)
    return Exit.OK


async def _serve_store(dsn: str, port: int, gateway: str | None, *, show: bool) -> None:
    token = secrets.token_urlsafe(24)
    settings = ConsoleSettings(dsn=dsn, key=secrets.token_bytes(32), host=_HOST, port=port, gateway_url=gateway)

    def ready(host: str, taken: int) -> None:
        url = f"http://{host}:{taken}/?token={token}"
        click.echo(f"The console is at {url}\nCtrl-C ends it.")
        if show:
            webbrowser.open(url)

    try:
        await serve(furnish(settings, LocalDoor(token), LocalLevers(dsn)), ready)
    except OSError as error:
        raise CliError(
            f"--port: {port} can't be used ({error.strerror}): name another, or 0 for any free one"
        ) from error
