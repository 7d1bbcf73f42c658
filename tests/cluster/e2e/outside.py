"""What is outside of the cluster, on this machine: the database and the far end, at an address that Pods reach.

In: that address. Out: a database with passwords, whose owner may make logins, and `sendonce simulate` as a process.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_cli.simulate.ledger import Ledger

OWNER, PASSWORD = "sendonce_owner", "the-owner-s"
# The superuser needs no password on this machine; everybody else needs one, as with a server of one's own.
_WHO_MAY = """
local all postgres trust
host all postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
"""


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def until_stopped(server: asyncio.Server, listening: Future[int], stop: asyncio.Event) -> None:
    """Say at which port a server listens, and let it until it is to stop."""
    listening.set_result(server.sockets[0].getsockname()[1])
    await stop.wait()
    server.close()


@contextmanager
def in_a_thread(serve: Callable[[Future[int], asyncio.Event], Coroutine[Any, Any, None]]) -> Iterator[int]:
    """Run what serves, on a loop of its own, until the end of the block; yields the port that it tells."""
    listening: Future[int] = Future()
    stop = asyncio.Event()
    with asyncio.Runner() as runner:
        thread = threading.Thread(target=runner.run, args=(serve(listening, stop),))
        thread.start()
        try:
            yield listening.result(10)
        finally:
            runner.get_loop().call_soon_threadsafe(stop.set)
            thread.join()


@contextmanager
def relay(host: str, port: int) -> Iterator[int]:
    """Take connections at an address and pass them on to a port of the loopback; yields the port."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pipe(reader, back), _pipe(there, writer))

    async def serve(listening: Future[int], stop: asyncio.Event) -> None:
        await until_stopped(await asyncio.start_server(pass_on, host, 0), listening, stop)

    with in_a_thread(serve) as found:
        yield found


@dataclass(frozen=True)
class Database:
    """A store. `here` and `in_pods` are its owner's connection strings; `address` is that of Pods without a login.

    `server` is that of the server's superuser, on this machine.
    """

    here: str
    in_pods: str
    address: str
    server: str


@contextmanager
def database(folder: Path, host: str) -> Iterator[Database]:
    """Run a PostgreSQL of our own, with a database that the chart migrates, that listens at `host` too."""
    rules = folder / "pg_hba.conf"
    rules.write_text(_WHO_MAY, "ascii")
    rules.chmod(0o644)
    server = EmbeddedPostgres(folder / "postgres", tcp=True, settings={"hba_file": str(rules), "fsync": "off"})
    asyncio.run(server.start())
    try:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE CREATEDB PASSWORD '{PASSWORD}'")
            connection.execute(f"CREATE DATABASE sendonce OWNER {OWNER}")
        here = make_conninfo(server.dsn("sendonce", tcp=True), user=OWNER, password=PASSWORD)
        with relay(host, server.port) as port:
            address = f"postgresql://{host}:{port}/sendonce?sslmode=disable"
            in_pods = make_conninfo(address, user=OWNER, password=PASSWORD)
            yield Database(here, in_pods, address, server.dsn())
    finally:
        asyncio.run(server.stop(remove=True))


@dataclass(frozen=True)
class FarEnd:
    """A running `sendonce simulate`."""

    host: str
    http: int
    smtp: int
    control: int
    ledger_file: Path

    def received(self) -> int:
        """How many messages it has accepted so far."""
        return Ledger.read(self.ledger_file).accepted().total()

    def ledger(self) -> Ledger:
        """All that it was handed."""
        return Ledger.read(self.ledger_file)

    def order(self, **wish: object) -> None:
        """Change how it behaves from now on, as `sendonce simulate --help` lists it."""
        url = f"http://{self.host}:{self.control}/control"
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(wish).encode()), timeout=10).close()


@contextmanager
def far_end(folder: Path, host: str, *options: str) -> Iterator[FarEnd]:
    """Run `sendonce simulate` at an address, with further options."""
    ledger = folder / "far-end.ndjson"
    command = [sys.executable, "-P", "-m", "sendonce_cli", "simulate", "--ledger", str(ledger), "--host", host]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            ports = json.loads(process.stdout.readline())
            yield FarEnd(host, ports["http"], ports["smtp"], ports["control"], ledger)
        finally:
            process.terminate()
