"""The product's images, built here: `Dockerfile.operator` and `Dockerfile.worker` in, archives out.

Docker builds them where it answers, on the base that the Dockerfiles name. Elsewhere buildah does, without an engine,
on the base image of `base_image`, with the packages that pip fetched on this machine. An archive's name has the digest
of all that went into it: a second build of the same is none.
"""

import hashlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.cluster import base_image
from tools.cluster.errors import ClusterError, MissingPartError
from tools.cluster.needs import find
from tools.cluster.places import ROOT

from sendonce_cli.kernel_lock import held

PROGRAMS = ("operator", "worker")
# of the base image
PYTHON = "3.11"
ARCHIVES = ROOT / "build" / "images"


@dataclass(frozen=True)
class Image:
    """One of the product's images, as it would be built from the checkout."""

    program: str
    digest: str

    @property
    def name(self) -> str:
        """The name by which Pods ask for it."""
        return f"localhost/sendonce-{self.program}:{self.digest}"

    @property
    def archive(self) -> Path:
        """Where it is kept."""
        return ARCHIVES / f"{self.program}-{self.digest}.tar"


def _sources(program: str) -> Iterator[Path]:
    """Yield the files that go into an image, in a fixed order."""
    yield from (ROOT / f"Dockerfile.{program}", ROOT / ".dockerignore", ROOT / "requirements" / f"{program}.txt")
    for folder in (ROOT / "store" / "sendonce_store", ROOT / program / f"sendonce_{program}"):
        yield from sorted(file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Return what tells two images apart: 16 hexadecimal digits over names and contents."""
    summed = hashlib.sha256()
    for name, content in files:
        summed.update(f"{name}\n{len(content)}\n".encode())
        summed.update(content)
    return summed.hexdigest()[:16]


def image(program: str) -> Image:
    """Return the image of a program of the checkout."""
    files = ((str(file.relative_to(ROOT)), file.read_bytes()) for file in _sources(program))
    base = (base_image.archive_path().name, b"")
    return Image(program, digest([base, *files]))


def uses_docker() -> bool:
    """Return whether Docker is here and answers."""
    docker = find("docker")
    return docker is not None and not subprocess.run([docker, "info"], check=False, capture_output=True).returncode


def complaints() -> list[str]:
    """Return what is missing to build images, with its fix."""
    if find("buildah") or uses_docker():
        return []
    return ["buildah, for the images; on Debian: apt-get install --no-install-recommends buildah"]


def docker_commands(wanted: Image, target: Path) -> list[list[str]]:
    """Return the commands that build and save an image with Docker."""
    build = ["docker", "build", "--file", f"Dockerfile.{wanted.program}", "--tag", wanted.name, "."]
    return [build, ["docker", "save", "--output", str(target), wanted.name]]


def buildah_commands(wanted: Image, target: Path, base: Path, wheels: Path) -> list[list[str]]:
    """Return the commands that build and save an image with buildah; `base` is an archive, `wheels` a folder."""
    build = ["buildah", "build", "--layers", "--pull-never", "--file", f"Dockerfile.{wanted.program}"]
    settings = {"BASE_IMAGE": base_image.NAME, "PIP_FIND_LINKS": "/wheels", "PIP_NO_INDEX": "1"}
    given = [f"--build-arg={name}={value}" for name, value in settings.items()]
    return [
        ["buildah", "pull", "--quiet", f"docker-archive:{base}"],
        [*build, *given, f"--volume={wheels}:/wheels:ro", "--tag", wanted.name, "."],
        ["buildah", "push", "--quiet", wanted.name, f"docker-archive:{target}:{wanted.name}"],
    ]


def pip_command(program: str, wheels: Path) -> list[str]:
    """Return the command that fetches a program's locked packages for the base image's Python."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    which = [f"--python-version={PYTHON}", "--only-binary=:all:", "--require-hashes"]
    return [*command, *which, f"--dest={wheels}", "--requirement", str(ROOT / "requirements" / f"{program}.txt")]


def _run(command: list[str], variables: Mapping[str, str]) -> None:
    done = subprocess.run(command, cwd=ROOT, env={**variables}, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ClusterError(f"`{' '.join(command[:4])} …` failed: {(done.stderr or done.stdout).strip()[-3000:]}")


def _with_buildah(wanted: Image, target: Path, variables: Mapping[str, str]) -> None:
    wheels = ROOT / "build" / "wheels" / wanted.program
    wheels.mkdir(parents=True, exist_ok=True)
    _run(pip_command(wanted.program, wheels), variables)
    # chroot: no namespaces of its own, so that it works inside of a container too
    here = {**variables, "BUILDAH_ISOLATION": "chroot"}
    for command in buildah_commands(wanted, target, base_image.build(), wheels):
        _run(command, here)


def build(program: str, variables: Mapping[str, str]) -> Image:
    """Build an image unless its archive is there; raise MissingPartError or ClusterError."""
    wanted = image(program)
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    with held(ARCHIVES / f"{program}.lock"):
        if not wanted.archive.exists():
            _make(wanted, variables)
    return wanted


def _make(wanted: Image, variables: Mapping[str, str]) -> None:
    if complaints():
        raise MissingPartError("\n".join(complaints()))
    print(f"Building the image of the {wanted.program}: {wanted.name}", flush=True)
    part = wanted.archive.with_suffix(".part")
    part.unlink(missing_ok=True)
    if uses_docker():
        for command in docker_commands(wanted, part):
            _run(command, variables)
    else:
        _with_buildah(wanted, part, variables)
    for before in ARCHIVES.glob(f"{wanted.program}-*.tar"):
        before.unlink()
    part.replace(wanted.archive)
