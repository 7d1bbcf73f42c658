"""A base image for the product's images, where no registry can be reached: Debian with Python.

In: Debian's packages, through `mmdebstrap`. Out: an archive in the user's cache folder. It has what the product's
Dockerfiles ask of the official slim image of Python: `python3` with `venv`, and certificates.
"""

import subprocess
import tempfile
from pathlib import Path

from tools.cluster.errors import ClusterError, MissingPartError
from tools.cluster.images import write_archive
from tools.cluster.needs import find
from tools.cluster.places import image_cache

from sendonce_cli.kernel_lock import held

SUITE = "bookworm"
NAME = f"localhost/sendonce-base:{SUITE}"
# another one where what is made of the same packages has changed
_FORM = 2
PACKAGES = ("ca-certificates", "python3", "python3-venv")
_SETTINGS: dict[str, object] = {
    "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"],
    "Cmd": ["python3"],
}


def archive_path() -> Path:
    """Return where the archive is kept; another choice of packages is another file."""
    return image_cache() / f"base-{SUITE}-{'-'.join(PACKAGES)}-{_FORM}.tar"


def command(target: Path) -> list[str]:
    """Return the command that writes the image's only layer."""
    return ["mmdebstrap", "--variant=essential", f"--include={','.join(PACKAGES)}", SUITE, str(target)]


def complaints() -> list[str]:
    """Return what is missing to have the base image, with its fix."""
    if archive_path().exists() or find("mmdebstrap"):
        return []
    return ["mmdebstrap, for the base image; on Debian: apt-get install mmdebstrap"]


def build() -> Path:
    """Make the base image if it is not there yet and return its archive."""
    archive = archive_path()
    if archive.exists():
        return archive
    if complaints():
        raise MissingPartError("\n".join(complaints()))
    with held(archive.with_suffix(".lock")):
        if not archive.exists():
            _make(archive)
    return archive


def _make(archive: Path) -> None:
    print(f"Making the base image from Debian's packages: {', '.join(PACKAGES)}", flush=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        layer, part = Path(scratch) / "layer.tar", Path(scratch) / "image.tar"
        done = subprocess.run(command(layer), check=False, capture_output=True, text=True)
        if done.returncode:
            raise ClusterError(f"mmdebstrap can't make the base image: {done.stderr.strip()[-2000:]}")
        with layer.open("rb") as content, part.open("wb") as target:
            write_archive(target, NAME, content, _SETTINGS)
        part.replace(archive)
