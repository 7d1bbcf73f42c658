"""The product's images, built here: a Dockerfile for each program in, archives out.

`engines` says what builds them. An archive's name has the digest of all that went into it: a second build of the same
is none.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.cluster import base_image, engines
from tools.cluster.errors import ClusterError
from tools.cluster.places import ROOT

from sendonce_cli.kernel_lock import held

# Each with the packages of ours that it is made of.
PACKAGES = {
    "operator": ("store", "rendering", "operator"),
    "worker": ("store", "rendering", "worker"),
    "console": ("store", "rendering", "worker", "console"),
    "cli": ("store", "rendering", "worker", "console", "cli"),
    "gateway": ("store", "gateway"),
}
PROGRAMS = tuple(PACKAGES)
# of the base image
PYTHON = "3.11"
ARCHIVES = ROOT / "build" / "images"
# buildah starts itself from a copy in memory, which the kernel may refuse to seal while it looks at its pages (EBUSY in
# fcntl(2), F_SEAL_WRITE): that passes
_NOT_SEALED = "sealing memfd copy"
_SEALED_AGAIN = 3


@dataclass(frozen=True)
class Image:
    """One of the product's images, as it would be built from the checkout."""

    program: str
    digest: str
    # The commit that its files are of; nothing if they are of none.
    revision: str = ""

    @property
    def name(self) -> str:
        """The name by which Pods ask for it."""
        return f"localhost/sendonce-{self.program}:{self.digest}"

    @property
    def archive(self) -> Path:
        """Where it is kept."""
        return ARCHIVES / f"{self.program}-{self.digest}.tar"


def _sources(program: str) -> Iterator[Path]:
    """Yield the files and folders that go into an image, in a fixed order."""
    yield from (ROOT / f"Dockerfile.{program}", ROOT / ".dockerignore", ROOT / "requirements" / f"{program}.txt")
    yield from (ROOT / package / f"sendonce_{package}" for package in PACKAGES[program])


def _files(sources: Iterable[Path]) -> Iterator[Path]:
    for source in sources:
        files = sorted(source.rglob("*")) if source.is_dir() else [source]
        yield from (file for file in files if file.is_file() and "__pycache__" not in file.parts)


def _git(root: Path, *arguments: str) -> str | None:
    git = shutil.which("git")
    done = git and subprocess.run([git, *arguments], cwd=root, check=False, capture_output=True, text=True)
    return done.stdout.strip() if done and not done.returncode else None


def revision(root: Path, sources: Iterable[Path]) -> str:
    """Return the last commit of a checkout that changed the sources; nothing where they differ from it, or no git."""
    paths = [str(source) for source in sources]
    clean = _git(root, "status", "--porcelain", "--", *paths) == ""
    return (_git(root, "log", "-1", "--format=%H", "--", *paths) or "") if clean else ""


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Return what tells two images apart: 16 hexadecimal digits over names and contents."""
    summed = hashlib.sha256()
    for name, content in files:
        summed.update(f"{name}\n{len(content)}\n".encode())
        summed.update(content)
    return summed.hexdigest()[:16]


def image(program: str) -> Image:
    """Return the image of a program of the checkout."""
    sources = list(_sources(program))
    commit = revision(ROOT, sources)
    files = ((str(file.relative_to(ROOT)), file.read_bytes()) for file in _files(sources))
    base = (base_image.archive_path().name, commit.encode())
    return Image(program, digest([base, *files]), commit)


def pip_command(program: str, wheels: Path) -> list[str]:
    """Return the command that fetches a program's locked packages for the base image's Python."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    which = [f"--python-version={PYTHON}", "--only-binary=:all:", "--require-hashes"]
    return [*command, *which, f"--dest={wheels}", "--requirement", str(ROOT / "requirements" / f"{program}.txt")]


def run(command: list[str], variables: Mapping[str, str]) -> None:
    """Run a command in the checkout; raise ClusterError with the end of what it said."""
    done = _done(command, variables)
    for _ in range(_SEALED_AGAIN):
        if _NOT_SEALED not in done.stderr:
            break
        done = _done(command, variables)
    if done.returncode:
        raise ClusterError(f"`{' '.join(command[:4])} …` failed: {(done.stderr or done.stdout).strip()[-3000:]}")


def _done(command: list[str], variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env={**variables}, check=False, capture_output=True, text=True)


def _local(program: str, variables: Mapping[str, str]) -> engines.Local | None:
    """Return what stands in for registries; nothing where no base image can be made."""
    if base_image.complaints():
        return None
    wheels = ROOT / "build" / "wheels" / program
    wheels.mkdir(parents=True, exist_ok=True)
    run(pip_command(program, wheels), variables)
    return engines.Local(base_image.build(), wheels)


def order(wanted: Image, target: Path, local: engines.Local | None) -> engines.Order:
    """Return what is ordered of whoever builds it."""
    labels = {"org.opencontainers.image.revision": wanted.revision}
    return engines.Order(f"Dockerfile.{wanted.program}", wanted.name, target, labels, local)


def build(program: str, variables: Mapping[str, str]) -> Image:
    """Build an image unless its archive is there; raise MissingPartError or ClusterError."""
    wanted = image(program)
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    with held(ARCHIVES / f"{program}.lock"):
        if not wanted.archive.exists():
            _make(wanted, variables)
    return wanted


def _make(wanted: Image, variables: Mapping[str, str]) -> None:
    engine = engines.required()
    print(f"Building the image {wanted.name} with {engine}", flush=True)
    part = wanted.archive.with_suffix(".part")
    part.unlink(missing_ok=True)
    local = None if engine == engines.DOCKER else _local(wanted.program, variables)
    # chroot: no namespaces of its own, so that it works inside of a container too
    here = {**variables, "BUILDAH_ISOLATION": "chroot"}
    for command in engines.commands(engine, order(wanted, part, local)):
        run(command, here)
    for before in ARCHIVES.glob(f"{wanted.program}-*.tar"):
        before.unlink()
    part.replace(wanted.archive)
