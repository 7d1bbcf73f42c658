"""An embedded PostgreSQL: a real server in a folder, for the demo, `sendonce run` and the tests.

In: a folder. Out: a running server and the DSNs of its databases. The folder holds

    data/        the data directory
    run/         the unix socket (elsewhere if the path is too long for one)
    server.log   the server's own words
    start.lock   held while somebody starts, restarts or stops the server
    users.lock   held, shared, by every process that uses the server: the last one to leave stops it

Both locks are kernel locks, so a process that is killed leaves none behind; the server that it leaves running is taken
over by the next start. Who can reach the socket or the loopback port needs no password: the socket folder is closed to
other users, and TCP is off unless asked for. All settings are PostgreSQL's defaults, durability above all.

PostgreSQL refuses to run as root. Started by root, the server runs as `nobody` (or as the owner of an existing data
directory); see `embedded_binaries.py`.
"""

import asyncio
import fcntl
import os
import shlex
import shutil
import socket
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from sendonce_cli import kernel_lock, postmaster
from sendonce_cli.embedded_binaries import (
    Account,
    Binaries,
    EmbeddedPostgresError,
    closed_parent,
    find_binaries,
    make_private,
    run_as,
    server_account,
)
from sendonce_cli.postmaster import Postmaster

_LOOPBACK = "127.0.0.1"
_SUPERUSER = "postgres"
_START_SECONDS = 60
# Linux's sun_path is 108 bytes with its end mark; PostgreSQL appends the name of the socket.
_SOCKET_PATH_BYTES = 107
_LONGEST_SOCKET_NAME = "/.s.PGSQL.65535.lock"


class EmbeddedPostgres:
    """One PostgreSQL server in `root`, shared by all the processes that started it.

    `tcp` adds 127.0.0.1 with a free port to the unix socket. `binaries` is the folder of initdb, pg_ctl and postgres,
    by default those that come with the package. `settings` are server settings on top of PostgreSQL's defaults; they
    hold when this process is the one that starts the server.
    """

    def __init__(
        self,
        root: Path,
        *,
        tcp: bool = False,
        binaries: Path | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._root = root.absolute()
        self._data = self._root / "data"
        self._tcp = tcp
        self._binaries_folder = binaries
        self._settings = dict(settings or {})
        self._use: IO[bytes] | None = None

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop, unless another process still uses the server."""
        await self.stop()

    @property
    def log_file(self) -> Path:
        """The server's log."""
        return self._root / "server.log"

    @property
    def port(self) -> int:
        """The server's port: on 127.0.0.1 with `tcp`, else only a part of the socket's name."""
        return self._server().port

    @property
    def pid(self) -> int:
        """The process id of the server's first process."""
        return self._server().pid

    def dsn(self, database: str = _SUPERUSER, *, tcp: bool = False) -> str:
        """Return the connection string of a database, over the unix socket or over TCP.

        Raises EmbeddedPostgresError when the server is not running, or has no TCP port.
        """
        running = self._server()
        if tcp and not running.tcp:
            msg = f"the server in {self._root} listens on its unix socket only: stop it, then start it with TCP"
            raise EmbeddedPostgresError(msg)
        where = {"host": _LOOPBACK, "sslmode": "disable"} if tcp else {"host": str(running.socket_dir)}
        return make_conninfo(**where, port=running.port, user=_SUPERUSER, dbname=database)

    async def start(self) -> None:
        """Make the database cluster if there is none, and start the server if it is not running.

        Raises EmbeddedPostgresError with the server's own words when it does not start.
        """
        await asyncio.to_thread(self._start)

    async def stop(self, *, remove: bool = False) -> None:
        """Leave the server; the last user to leave stops it, and with `remove` deletes what it made.

        The sessions of the database are ended, what they had committed is kept.
        """
        await asyncio.to_thread(self._stop, remove=remove)

    async def restart(self, *, immediate: bool = False) -> None:
        """Restart on the same socket and port; `immediate` crashes the server, which then recovers from its log."""
        await asyncio.to_thread(self._restart, "immediate" if immediate else "fast")

    async def create_database(self, name: str) -> None:
        """Create a database unless it exists."""
        async with await psycopg.AsyncConnection.connect(self.dsn(), autocommit=True) as connection:
            with suppress(psycopg.errors.DuplicateDatabase):
                await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    def _start(self) -> None:
        if not self._root.exists():
            self._root.mkdir(parents=True, exist_ok=True)
            # Others may enter it, not list it: as root, the server is another user. What counts is closed further down.
            self._root.chmod(0o711)
        with kernel_lock.held(self._root / "start.lock"):
            account = server_account(self._data)
            self._check_reach(account)
            if not self._answers():
                binaries = find_binaries(self._binaries_folder, self._data, account)
                self._prepare(binaries, account)
                self._launch(binaries, account)
            if self._use is None:
                self._use = kernel_lock.take(self._root / "users.lock", fcntl.LOCK_SH)

    def _stop(self, *, remove: bool) -> None:
        with kernel_lock.held(self._root / "start.lock"):
            if self._use is not None:
                self._use.close()
                self._use = None
            try:
                alone = kernel_lock.take(self._root / "users.lock", fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            with alone:
                running = postmaster.read(self._data)
                if running is not None:
                    self._control("stop", "-m", "fast")
                    shutil.rmtree(running.socket_dir)
                if remove:
                    self._remove()

    def _remove(self) -> None:
        for ours in ("data", "data.partial", "run"):
            shutil.rmtree(self._root / ours, ignore_errors=True)
        for ours in ("server.log", "users.lock", "start.lock"):
            (self._root / ours).unlink(missing_ok=True)
        # What somebody else put there stays.
        with suppress(OSError):
            self._root.rmdir()

    def _restart(self, mode: str) -> None:
        with kernel_lock.held(self._root / "start.lock"):
            # No options: pg_ctl takes those of the running server, the port and the socket among them.
            self._control("restart", "-m", mode, "-l", str(self.log_file))

    def _check_reach(self, account: Account | None) -> None:
        if account is None:
            return
        closed = closed_parent(self._root, account)
        if closed is not None:
            msg = f"as root the server runs as {account.name}, who cannot enter {closed}: choose a folder outside of it"
            raise EmbeddedPostgresError(msg)

    def _prepare(self, binaries: Binaries, account: Account | None) -> None:
        # A server that is gone left its socket's lock, by which its number, living on in a zombie, stops the next one.
        shutil.rmtree(self._root / "run", ignore_errors=True)
        make_private(self._root / "run", account)
        self.log_file.touch()
        if account is not None:
            os.chown(self.log_file, account.uid, account.gid)
        if self._data.exists():
            self._check_data()
            return
        # Under another name until it is whole: initdb writes PG_VERSION first of all.
        partial = self._root / "data.partial"
        shutil.rmtree(partial, ignore_errors=True)
        make_private(partial, account)
        options = ("-U", _SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
        self._run(binaries.folder / "initdb", *options, "-D", str(partial), account=account)
        partial.rename(self._data)

    def _check_data(self) -> None:
        if not (self._data / "PG_VERSION").exists():
            msg = f"{self._data} exists and is no data directory of PostgreSQL: choose another folder than {self._root}"
            raise EmbeddedPostgresError(msg)

    def _launch(self, binaries: Binaries, account: Account | None) -> None:
        postmaster.forget_reused_number(self._data)
        settings = self._server_settings(account)
        options = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self._pg_ctl(binaries, account, "start", "-l", str(self.log_file), "-o", options)
            except EmbeddedPostgresError:
                # The children of a killed server hold its shared memory until they notice.
                if "still in use" not in self._last_words() or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def _server_settings(self, account: Account | None) -> dict[str, str]:
        return {
            **self._settings,
            "listen_addresses": _LOOPBACK if self._tcp else "",
            "port": str(_free_port() if self._tcp else 5432),
            "unix_socket_directories": str(self._socket_dir(account)),
        }

    def _socket_dir(self, account: Account | None) -> Path:
        beside = self._root / "run"
        if len(os.fsencode(beside)) + len(_LONGEST_SOCKET_NAME) <= _SOCKET_PATH_BYTES:
            return beside
        elsewhere = Path(tempfile.mkdtemp(prefix="sendonce-socket-"))
        make_private(elsewhere, account)
        return elsewhere

    def _answers(self) -> bool:
        """Return whether there is a server, once it takes connections; one that is just ending counts as none."""
        deadline = time.monotonic() + _START_SECONDS
        while postmaster.read(self._data) is not None:
            try:
                psycopg.connect(self.dsn(), connect_timeout=5).close()
            except (psycopg.OperationalError, EmbeddedPostgresError) as error:
                if time.monotonic() > deadline:
                    msg = f"the server in {self._root} runs but takes no connection: {error}"
                    raise EmbeddedPostgresError(msg) from error
                time.sleep(0.05)
            else:
                return True
        return False

    def _server(self) -> Postmaster:
        running = postmaster.read(self._data)
        if running is None:
            msg = f"the server in {self._root} is not running: start it first"
            raise EmbeddedPostgresError(msg)
        return running

    def _control(self, *command: str) -> None:
        account = server_account(self._data)
        self._pg_ctl(find_binaries(self._binaries_folder, self._data, account), account, *command)

    def _pg_ctl(self, binaries: Binaries, account: Account | None, *command: str) -> None:
        waiting = ("-w", "-t", str(_START_SECONDS), "-D", str(self._data))
        self._run(binaries.folder / "pg_ctl", *command, *waiting, account=account)

    def _run(self, program: Path, *arguments: str, account: Account | None) -> None:
        try:
            run_as(account, program, *arguments)
        except EmbeddedPostgresError as error:
            msg = f"{error}\n{self._last_words()}".rstrip()
            raise EmbeddedPostgresError(msg) from error

    def _last_words(self) -> str:
        with suppress(FileNotFoundError):
            return "\n".join(self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-5:])
        return ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
