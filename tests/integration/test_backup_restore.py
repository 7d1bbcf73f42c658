"""A store that is restored from a backup of the middle of a campaign, judged by the far end's ledger.

Two campaigns run, one over a provider with keys and one over a mail server, which knows none. Meanwhile a base backup
is taken. They send on; then all is lost, and from the copy both are brought to their end.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from psycopg.conninfo import make_conninfo

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_cli.embedded_binaries import find_binaries, server_account
from sendonce_cli.simulate import Simulator, SimulatorSettings, serve
from sendonce_cli.simulate.ledger import Ledger

PEOPLE = 600
# twenty at once, and then two in a second: for longer than both waits and a backup
SLOWLY = [{"messages": 2, "periodSeconds": 1, "burst": 40}]
CAMPAIGNS = ("keyed", "mail")


def _document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "sendonce.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _provider(name: str, simulator: Simulator) -> dict[str, Any]:
    if name == "mail":
        return {"type": "SMTP", "smtp": {"host": "127.0.0.1", "port": simulator.smtp_port, "tls": "None"}}
    url = f"http://127.0.0.1:{simulator.http_port}/send"
    keys = {"idempotencyKeyHeader": "Idempotency-Key", "keyWindowSeconds": 86_400}
    return {"type": "HTTP", "http": {"url": url, **keys}}


def _file(folder: Path, name: str, simulator: Simulator, limits: list[dict[str, int]]) -> Path:
    rows = "".join(f"{name}{no}@example.com\n" for no in range(PEOPLE))
    message = {
        "channel": "Email",
        "providerRef": {"name": name},
        "template": {"from": "news@example.com", "subject": "Hello", "text": "Hello"},
    }
    recipients = {"configMapKeyRef": {"name": name, "key": "csv"}, "format": "CSV"}
    content = {"category": "Transactional", "recipients": recipients, "messages": [message]}
    documents = [
        _document("NotificationCampaign", name, content),
        _document("NotificationProvider", name, _provider(name, simulator) | {"limits": limits}),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"csv": f"email\n{rows}"}},
    ]
    file = folder / f"{name}-{'slow' if limits else 'quick'}.yaml"
    file.write_text(yaml.safe_dump_all(documents), "utf-8")
    return file


@dataclass
class Scene:
    """Both campaigns, a far end, and the programs of PostgreSQL."""

    folder: Path
    simulator: Simulator
    programs: Path

    @property
    def ledger(self) -> Ledger:
        return Ledger.read(self.simulator.settings.ledger)

    def accepted(self) -> Counter[str]:
        """How many messages each address got."""
        return Counter({to: count for (to, _, _), count in self.ledger.accepted().items()})

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "sendonce_cli.main", *arguments]

    async def start(self, name: str, dsn: str, limits: list[dict[str, int]]) -> Process:
        """`sendonce run`, in a process group of its own."""
        file = _file(self.folder, name, self.simulator, limits)
        given = ("run", str(file), "--database", dsn, "--data", str(self.folder / "data"), "--heartbeat", "0.5", "-q")
        command = self.command(*given, "-o", "json", "--workers", "1")
        return await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True
        )

    async def finish(self, name: str, dsn: str) -> dict[str, Any]:
        """Run a campaign to its end, and return its status."""
        process = await self.start(name, dsn, [])
        out, err = await process.communicate()
        assert process.returncode in {0, 1}, err.decode()
        found: dict[str, Any] = json.loads(out)
        return found

    async def say_restored(self, dsn: str) -> None:
        command = self.command("restored", "--database", dsn, "--yes", "-o", "json")
        said = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stderr
        assert {one["sendKey"] for one in json.loads(said.stdout)["campaigns"]} == set(CAMPAIGNS)

    async def program(self, name: str, *arguments: str) -> None:
        """Run a program of PostgreSQL."""
        command = [str(self.programs / name), *arguments]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.fixture
async def scene(tmp_path: Path, postgres_binaries: Path | None) -> AsyncIterator[Scene]:
    programs = find_binaries(postgres_binaries, tmp_path / "none", None).folder
    async with serve(SimulatorSettings(ledger=tmp_path / "far-end.ndjson")) as simulator:
        yield Scene(tmp_path, simulator, programs)


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder for the base backup, which a server that is another user can enter."""
    folder = Path(tempfile.gettempdir()) / f"sendonce-own-{uuid.uuid4().hex}"
    folder.mkdir(mode=0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


async def _until(reached: Callable[[], bool], what: str, seconds: float = 90) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not reached():
        assert asyncio.get_running_loop().time() < end, f"{what}: not within {seconds:.0f} s"
        await asyncio.sleep(0.05)


async def _lose_everything(running: list[Process]) -> None:
    """Everything ends at once, workers too."""
    for process in running:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


@asynccontextmanager
async def _restored_server(folder: Path, binaries: Path | None) -> AsyncIterator[EmbeddedPostgres]:
    account = server_account(folder / "none")
    if account is not None:
        for path in (folder / "data", *(folder / "data").rglob("*")):
            shutil.chown(path, account.uid, account.gid)
    copy = EmbeddedPostgres(folder, binaries=binaries)
    try:
        await copy.start()
        yield copy
    finally:
        await copy.stop(remove=True)


async def _bring_to_an_end(scene: Scene, dsn: str) -> None:
    """As docs/operations.md has it; nobody gets a second message, and nobody is lost."""
    await scene.say_restored(dsn)
    keyed, mail = await asyncio.gather(*(scene.finish(name, dsn) for name in CAMPAIGNS))
    got = scene.accepted()
    assert set(got.values()) == {1}
    assert {to for to in got if to.startswith("keyed")} == {f"keyed{no}@example.com" for no in range(PEOPLE)}
    assert keyed["deliveries"]["sent"] == PEOPLE
    counts = mail["deliveries"]
    assert counts["sent"] > 0
    assert counts["uncertain"] > 0
    assert counts["sent"] + counts["uncertain"] == PEOPLE


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_from_a_backup_of_the_middle_of_a_campaign_nobody_gets_a_second_message(
    scene: Scene, server: EmbeddedPostgres, server_database: str, base: Path, postgres_binaries: Path | None
) -> None:
    dsn = server.dsn(server_database)
    running = [await scene.start(name, dsn, SLOWLY) for name in CAMPAIGNS]
    try:
        await _until(lambda: min(_of(scene, name) for name in CAMPAIGNS) >= 10, "both send")
        plain = make_conninfo(server.dsn(), dbname="replication")
        await scene.program("pg_basebackup", "-d", plain, "-D", str(base / "data"), "-X", "stream", "-c", "fast")
        then = {name: _of(scene, name) for name in CAMPAIGNS}
        await _until(lambda: min(_of(scene, name) - then[name] for name in CAMPAIGNS) >= 4, "both send on")
    finally:
        await _lose_everything(running)
    assert max(_of(scene, name) for name in CAMPAIGNS) < PEOPLE
    async with _restored_server(base, postgres_binaries) as copy:
        await _bring_to_an_end(scene, copy.dsn(server_database))


def _of(scene: Scene, name: str) -> int:
    """How many people of a campaign have a message."""
    return sum(to.startswith(name) for to in scene.accepted())
