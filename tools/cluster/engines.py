"""What builds the product's images: Docker, buildah or podman, whichever is there.

In: what this machine has, and an order. Out: the commands that carry it out. Docker builds on the base that the
Dockerfiles name, as it is where registries are. The other two need no engine and work where no registry is reached:
they take the base image of `base_image` and packages that pip has fetched, where those can be had.
"""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tools.cluster import base_image
from tools.cluster.errors import MissingPartError
from tools.cluster.needs import find

DOCKER, BUILDAH, PODMAN = "docker", "buildah", "podman"
_NONE = "docker, podman or buildah, for the images; on Debian: apt-get install --no-install-recommends buildah"


@dataclass(frozen=True)
class Local:
    """What stands in for registries: the archive of a base image, and a folder of wheels."""

    base: Path
    wheels: Path

    @property
    def settings(self) -> dict[str, str]:
        """The arguments of a Dockerfile that lead there."""
        return {"BASE_IMAGE": base_image.NAME, "PIP_FIND_LINKS": "/wheels", "PIP_NO_INDEX": "1"}


@dataclass(frozen=True)
class Order:
    """Build `file` as the image `name`, and save it as the archive `target`."""

    file: str
    name: str
    target: Path
    labels: dict[str, str] = field(default_factory=dict)
    local: Local | None = None


def answers(docker: str) -> bool:
    """Return whether Docker's engine runs."""
    return not subprocess.run([docker, "info"], check=False, capture_output=True).returncode


def choose(has: Callable[[str], str | None], running: Callable[[str], bool]) -> str | None:
    """Return which of them builds here; `has` finds a program, `running` asks Docker for its engine."""
    docker = has(DOCKER)
    if docker is not None and running(docker):
        return DOCKER
    return next((engine for engine in (BUILDAH, PODMAN) if has(engine)), None)


def here() -> str | None:
    """Return which of them builds on this machine."""
    return choose(find, answers)


def complaints() -> list[str]:
    """Return what is missing to build images, with its fix."""
    return [] if here() else [_NONE]


def required() -> str:
    """Return which of them builds on this machine; raise MissingPartError if none is there."""
    engine = here()
    if engine is None:
        raise MissingPartError(_NONE)
    return engine


def commands(engine: str, order: Order) -> list[list[str]]:
    """Return the commands that build and save an image, in the checkout's folder."""
    return {DOCKER: _docker, BUILDAH: _buildah, PODMAN: _podman}[engine](order)


def _given(order: Order) -> list[str]:
    """Return the options. Labels are no arguments of a Dockerfile: buildah would take old values from its cache."""
    settings = order.local.settings if order.local else {}
    arguments = [f"--build-arg={name}={value}" for name, value in settings.items()]
    return [*arguments, *(f"--label={name}={value}" for name, value in order.labels.items())]


def _docker(order: Order) -> list[list[str]]:
    build = ["docker", "build", "--file", order.file, *_given(order), "--tag", order.name, "."]
    return [build, ["docker", "save", "--output", str(order.target), order.name]]


def _buildah(order: Order) -> list[list[str]]:
    pull, where = _from_archive("buildah", order)
    build = ["buildah", "build", "--layers", "--file", order.file, *where, *_given(order), "--tag", order.name, "."]
    return [*pull, build, ["buildah", "push", "--quiet", order.name, f"docker-archive:{order.target}:{order.name}"]]


def _podman(order: Order) -> list[list[str]]:
    pull, where = _from_archive("podman", order)
    build = ["podman", "build", "--file", order.file, *where, *_given(order), "--tag", order.name, "."]
    save = ["podman", "save", "--quiet", "--format=docker-archive", "--output", str(order.target), order.name]
    return [*pull, build, save]


def _from_archive(program: str, order: Order) -> tuple[list[list[str]], list[str]]:
    """Return what has to be done before, and the options with which the build asks no registry."""
    if order.local is None:
        return [], []
    pull = [program, "pull", "--quiet", f"docker-archive:{order.local.base}"]
    return [pull], ["--pull=never", f"--volume={order.local.wheels}:/wheels:ro"]
