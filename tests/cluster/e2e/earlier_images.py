"""Images of the version before: today's, with a layer on top in which its code takes the place of today's.

In: an archive of today's image, and the unpacked packages of that version. Out: an archive of an image that differs in
our code alone. Nothing is built: a layer, its digest in the configuration, and the name (image-spec of the OCI).
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from tools.cluster.images import add_layer

APP = "opt/sendonce/app"
# in a layer: nothing of what lies below in this folder is there
OPAQUE = ".wh..wh..opq"


def _layer(packages: Path, names: tuple[str, ...]) -> bytes:
    """The files of the packages, in the place of those that the image has."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        for name in names:
            layer.addfile(tarfile.TarInfo(f"{APP}/{name}/{OPAQUE}"))
            layer.add(packages / name, f"{APP}/{name}")
    return content.getvalue()


def rebuilt(today: Path, name: str, packages: Path, names: tuple[str, ...], target: Path) -> Path:
    """Write the archive of the image `name` and return its path."""
    add_layer(today, target, name, _layer(packages, names))
    return target
