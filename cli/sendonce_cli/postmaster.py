"""What a PostgreSQL server says of itself in its data directory.

In: a data directory. Out: the live server of that directory, if there is one.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A live server: its first process, its port, its socket's folder, and whether it listens on TCP."""

    pid: int
    port: int
    socket_dir: Path
    tcp: bool


def read(data: Path) -> Postmaster | None:
    """Return the live server of a data directory, None if there is none (a file left behind is none).

    The lines are pid, data directory, start time, port, socket folder, first listen address, …: see PostgreSQL's
    src/include/utils/pidfile.h.
    """
    try:
        lines = _pid_file(data).read_text(encoding="utf-8").splitlines()
        server = Postmaster(int(lines[0]), int(lines[3]), Path(lines[4]), tcp=bool(lines[5]))
    except (OSError, IndexError, ValueError):
        return None
    return server if _lives_in(server.pid, data) else None


def forget_reused_number(data: Path) -> None:
    """Remove the file of a server that is gone when its number is another program's now (or that of its zombie).

    PostgreSQL takes any living process of that number for the server, and refuses to start: after a restart of a
    container, where numbers are small, almost surely. In all other cases it sees by itself that the file is stale.
    """
    try:
        pid = int(_pid_file(data).read_text(encoding="utf-8").split("\n", 1)[0])
    except (OSError, ValueError):
        return
    if Path(f"/proc/{pid}").exists() and not _lives_in(pid, data):
        _pid_file(data).unlink(missing_ok=True)


def _pid_file(data: Path) -> Path:
    return data / "postmaster.pid"


def _lives_in(pid: int, data: Path) -> bool:
    # A server's working directory is its data directory, always.
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == data.resolve()
    except OSError:
        return False
