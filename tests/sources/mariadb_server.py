"""A real MariaDB server on the loopback interface, for tests.

Where it is not installed a test is skipped with the cure; with SENDONCE_REQUIRE_ALL_LEVELS=1 it fails.
"""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest
from tools.cluster.needs import find

REQUIRE_VARIABLE = "SENDONCE_REQUIRE_ALL_LEVELS"
CURE = "on Debian: apt-get install --no-install-recommends mariadb-server-core mariadb-client-core"
USER, PASSWORD = "ann", "hunter2@"
_SECONDS = 100


class MariaDB:
    """A running server with the database `shop` and a user that may do anything in it."""

    def __init__(self, port: int, socket_file: Path) -> None:
        self.port = port
        self._socket = str(socket_file)

    @property
    def dsn(self) -> str:
        return f"mysql://{USER}:hunter2%40@127.0.0.1:{self.port}/shop"

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as the superuser; returns the last one's rows."""
        with pymysql.connect(user="root", unix_socket=self._socket, autocommit=True) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())


@contextmanager
def running(folder: Path) -> Iterator[MariaDB]:
    """A new server until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    data, socket_file = folder / "data", folder / "s"
    install = [_program("mariadb-install-db"), "--no-defaults", f"--datadir={data}", "--skip-test-db", *_as_root()]
    subprocess.run(
        [*install, "--auth-root-authentication-method=normal"], check=True, capture_output=True, timeout=_SECONDS
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [_program("mariadbd"), "--no-defaults", f"--datadir={data}", f"--socket={socket_file}", *_as_root()]
    options = [
        f"--port={port}",
        "--bind-address=127.0.0.1",
        "--innodb-buffer-pool-size=32M",
        f"--pid-file={folder}/pid",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen([*command, *options], stdout=log, stderr=log) as process:
        try:
            server = MariaDB(port, socket_file)
            _wait(server, process)
            yield server
        finally:
            process.terminate()


def _wait(server: MariaDB, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + _SECONDS
    while not _listens(server.port):
        if process.poll() is not None or time.monotonic() > end:
            pytest.fail("MariaDB has ended before it listened, or does not listen")
        time.sleep(0.05)
    account = f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'"
    server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4", account, f"GRANT ALL ON shop.* TO {USER}")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _as_root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []


def _program(name: str) -> str:
    found = find(name)
    if found is None:
        complaint = f"{name} is not on this machine; {CURE}"
        if os.environ.get(REQUIRE_VARIABLE) == "1":
            pytest.fail(complaint)
        pytest.skip(complaint)
    return found
