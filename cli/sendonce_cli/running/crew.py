"""The worker processes of one run: started, watched, drained, killed. How they are to run in, who has left out.

Each process has an identity of its own, also after a restart. They are in a session of their own, so that Ctrl-C
reaches this process alone, which then drains them; and they are told to drain if this process dies.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Crew", "Departed", "Launch"]

_PR_SET_PDEATHSIG = 1
_TAIL_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Launch:
    """How a worker is to run. `log`: the file for what it prints; None: this process's standard error."""

    dsn: str
    namespace: str
    send_key: str
    files: Path
    log: Path | None
    log_format: str = "plain"
    log_level: str = "INFO"
    grace_seconds: float = 60.0
    heartbeat_seconds: float | None = None
    concurrency: int | None = None
    gateway_url: str | None = None

    def environment(self, identity: str) -> dict[str, str]:
        """The variables that tell the worker all this."""
        given = {
            "SENDONCE_DSN": self.dsn,
            "SENDONCE_NAMESPACE": self.namespace,
            "SENDONCE_SEND_KEY": self.send_key,
            "SENDONCE_FILES": str(self.files),
            "SENDONCE_WORKER_ID": identity,
            "SENDONCE_HEALTH_PORT": "",
            "SENDONCE_LOG_FORMAT": self.log_format,
            "SENDONCE_LOG_LEVEL": self.log_level,
            "SENDONCE_GRACE_SECONDS": f"{self.grace_seconds:g}",
            "SENDONCE_EXIT_WHEN_DONE": "1",
            "PYTHONUNBUFFERED": "1",
        }
        if self.heartbeat_seconds is not None:
            given["SENDONCE_HEARTBEAT_SECONDS"] = f"{self.heartbeat_seconds:g}"
        if self.concurrency is not None:
            given["SENDONCE_CONCURRENCY"] = str(self.concurrency)
        if self.gateway_url is not None:
            given["SENDONCE_GATEWAY_URL"] = self.gateway_url
        return given


@dataclass(frozen=True, slots=True)
class Departed:
    """A process that is gone. `code` as subprocess gives it: negative for a signal. `words`: its own last error."""

    identity: str
    pid: int
    code: int
    seconds: float
    words: str

    @property
    def story(self) -> str:
        """How it ended, for people."""
        if self.code < 0:
            return f"worker {self.pid} was ended by {signal.Signals(-self.code).name}"
        said = f": {self.words}" if self.words else ""
        return f"worker {self.pid} ended with exit code {self.code}{said}"


@dataclass(frozen=True, slots=True)
class _Member:
    process: subprocess.Popen[bytes]
    identity: str
    started: float
    log_offset: int


class Crew:
    """Worker processes of one campaign."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._members: list[_Member] = []

    @property
    def size(self) -> int:
        """How many have not been found gone."""
        return len(self._members)

    @property
    def pids(self) -> list[int]:
        """Their process ids."""
        return [member.process.pid for member in self._members]

    def start(self) -> str:
        """Start one more; returns its identity."""
        identity = f"{os.uname().nodename}-{uuid.uuid4().hex}"
        environment = {**_inherited(os.environ), **self._launch.environment(identity)}
        log, offset = self._open_log()
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "sendonce_worker"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_drain_when_orphaned(),  # noqa: PLW1509 - one system call, and no thread of ours takes locks
            )
        finally:
            if log != _OUR_STDERR:
                os.close(log)
        self._members.append(_Member(process, identity, time.monotonic(), offset))
        return identity

    def reap(self) -> list[Departed]:
        """Find those that are gone (waitpid), and forget them."""
        gone = [member for member in self._members if member.process.poll() is not None]
        self._members = [member for member in self._members if member not in gone]
        return [self._departed(member) for member in gone]

    def drain(self) -> None:
        """Ask all of them to finish what is in flight and end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End all of them now; what was in flight is settled by the next worker."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        for member in self._members:
            member.process.send_signal(number)

    def _open_log(self) -> tuple[int, int]:
        if self._launch.log is None:
            return _OUR_STDERR, 0
        log = os.open(self._launch.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return log, os.fstat(log).st_size

    def _departed(self, member: _Member) -> Departed:
        seconds = time.monotonic() - member.started
        words = _last_error(self._launch.log, member.log_offset)
        return Departed(member.identity, member.process.pid, member.process.returncode, seconds, words)


_OUR_STDERR = 2


def _inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """What workers get of our environment: all but our own settings, the passwords in DSNs above all."""
    return {name: value for name, value in environment.items() if not name.startswith("SENDONCE_")}


def _drain_when_orphaned() -> Callable[[], None] | None:
    """SIGTERM if this process dies (prctl(2)), so that nobody goes on sending behind the back of who killed it."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)

    def ask_kernel() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    return ask_kernel


def _last_error(log: Path | None, offset: int) -> str:
    """The last `error: …` line that was written from there on; others write to the same file."""
    if log is None:
        return ""
    with log.open("rb") as file:
        file.seek(max(offset, log.stat().st_size - _TAIL_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return errors[-1] if errors else ""
