"""The script that makes drawings of `mermaid` blocks, pinned.

In: nothing. Out: its path in the user's cache folder. It comes once from the npm registry, by the `npm` program, and is
checked against the digest that is written here. The theme would fetch it from a public server whenever a page is read.
"""

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tools.fetch_postgres import cache_folder

VERSION = "12.3.0"
DIGEST = "4113TdXeLAsMruJ79OpFL5O8+LTFXhQqZ260rF3tgUmiNAtRm4Uume04I+65PRN6yZ69J4f8rVYWW8zRk65UYw=="
_INSIDE = "package/dist/mermaid.min.js"


def script() -> Path:
    """Return the script, fetched if it is not there yet; exits with the reason where it can't be had."""
    home = cache_folder() / f"mermaid-{VERSION}.min.js"
    if not home.exists():
        if shutil.which("npm") is None:
            sys.exit("npm is not installed: the site's drawings come by it; on Debian: apt-get install npm")
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
            _fetch(Path(scratch)).rename(home)
    return home


def _fetch(folder: Path) -> Path:
    command = ["npm", "pack", "--silent", f"mermaid@{VERSION}"]
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    archive = next(folder.glob("*.tgz"))
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != DIGEST:
        sys.exit(f"mermaid {VERSION} has digest {found}, expected {DIGEST}: not used")
    with tarfile.open(archive) as contents:
        contents.extract(_INSIDE, folder, filter="data")
    return folder / _INSIDE
