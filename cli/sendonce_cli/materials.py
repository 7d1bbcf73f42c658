"""ConfigMaps and Secrets of the documents of one command, with those below `--files DIR`, as files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sendonce_cli.bundle import Bundle
from sendonce_worker.previewing.materials import Materials, laid_out

__all__ = ["Materials", "materialised"]


@contextmanager
def materialised(bundle: Bundle, given: Path, namespace: str) -> Iterator[Materials]:
    """Make the folder, readable by nobody else, and remove it in the end."""
    with laid_out(bundle.config_maps(namespace), bundle.secrets(namespace), given) as materials:
        yield materials
