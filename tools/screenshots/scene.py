"""What the pictures are taken of: a store, a far end, campaigns sent by `sendonce run`, and `sendonce console`.

In: a folder. Out: the console's address while everything runs; at the end nothing of it is left.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psycopg
import yaml
from tools.screenshots import campaigns

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_store.migrate import migrate

PACE = 40
READERS = 4000
FEW = 240
_MISCHIEF = ("permanent=0.006", "transient=0.03", "lost=0.002", "throttle=0.0005")
_PATIENCE = 240.0
_SENDONCE = (sys.executable, "-P", "-m", "sendonce_cli")
_SENT = "SELECT count(*) FROM sendonce.deliveries WHERE address = %s AND state = 'sent'"
_ENDED = "SELECT count(*) FROM sendonce.deliveries WHERE state NOT IN ('pending', 'sending')"


@dataclass(frozen=True)
class Scene:
    """A running console. `address`: with the token of its one user."""

    address: str
    dsn: str

    def until_sent(self, address: str) -> None:
        """Wait until a message to somebody was accepted."""
        self._until(_SENT, [address], 1)

    def until_ended(self, deliveries: int) -> None:
        """Wait until so many deliveries have ended."""
        self._until(_ENDED, [], deliveries)

    def _until(self, query: LiteralString, parameters: Sequence[str], wanted: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            while (row := connection.execute(query, parameters).fetchone()) and row[0] < wanted:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{row[0]} of {wanted} deliveries after {_PATIENCE:.0f} s: {query} {parameters}")
                time.sleep(1)


@contextmanager
def _running(command: Sequence[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a program, which is asked to stop at the end."""
    with log.open("w") as errors:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


def _first_line(process: subprocess.Popen[str], log: Path) -> str:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise RuntimeError(f"{process.args!r} has ended: {log.read_text('utf-8')[-2000:]}")
    return line


@contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    server = EmbeddedPostgres(folder, settings={"fsync": "off"})
    asyncio.run(server.start())
    try:
        dsn = server.dsn()
        asyncio.run(migrate(dsn))
        yield dsn
    finally:
        asyncio.run(server.stop(remove=True))


def _write(folder: Path, found: campaigns.Document, readers: str, providers: Sequence[campaigns.Document]) -> Path:
    name = found["metadata"]["name"]
    place = folder / "configmaps" / "readers"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.csv").write_text(readers, "utf-8")
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump_all([found, *providers], sort_keys=False), "utf-8")
    return file


def _files(folder: Path, providers: Sequence[campaigns.Document]) -> Iterator[tuple[str, Path]]:
    """Namespace and file of each campaign."""
    named = (campaigns.GONE, campaigns.UNCLEAR, campaigns.LEFT)
    yield "shop", _write(folder, campaigns.newsletter(), campaigns.people(READERS, 1, named), providers)
    for no, (namespace, documents) in enumerate(campaigns.others().items(), 2):
        for found in documents:
            yield (
                namespace,
                _write(
                    folder,
                    found,
                    campaigns.people(FEW, no, (campaigns.PATIENT,) if namespace == "shop" else ()),
                    providers,
                ),
            )


def _far_end(folder: Path) -> list[str]:
    overrides = [f"--override={address}={fate}" for address, fate in campaigns.FATES.items()]
    chances = [f"--chance={chance}" for chance in _MISCHIEF]
    return [*_SENDONCE, "simulate", "--ledger", str(folder / "far-end.ndjson"), "--seed", "7", *chances, *overrides]


def _consent(environment: dict[str, str]) -> None:
    """Somebody has left before the newsletter came."""
    add = ("suppress", "add", "Email", campaigns.LEFT, "--reason", "complained", "-n", "shop")
    subprocess.run([*_SENDONCE, *add], env=environment, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """Have everything running."""
    with ExitStack() as stack:
        dsn = stack.enter_context(_postgres(folder / "postgres"))
        environment = {**os.environ, "SENDONCE_DATABASE": dsn, "SENDONCE_DATA": str(folder / "data")}
        log = folder / "far-end.log"
        ports = json.loads(_first_line(stack.enter_context(_running(_far_end(folder), environment, log)), log))
        _consent(environment)
        for namespace, file in _files(folder, campaigns.providers(ports["smtp"], ports["http"], PACE)):
            command = [*_SENDONCE, "run", str(file), "-n", namespace, "--workers", "2", "--wait", "--quiet"]
            stack.enter_context(_running(command, environment, folder / f"{file.stem}.log"))
        log = folder / "console.log"
        console = stack.enter_context(_running([*_SENDONCE, "console", "--port", "0"], environment, log))
        found = re.search(r"http://\S+", _first_line(console, log))
        if found is None:
            raise RuntimeError("`sendonce console` did not say its address first")
        yield Scene(found[0], dsn)
