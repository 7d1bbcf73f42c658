"""ConfigMaps and Secrets as a Pod would see them: what documents hold in, one private folder of files out.

The folder has `configmaps/<name>/<key>` and `secrets/<name>/<key>`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Materials", "laid_out"]

CONFIG_MAPS, SECRETS = "configmaps", "secrets"
Objects = Mapping[str, Mapping[str, bytes]]
"""Name → key → content."""


@dataclass(frozen=True, slots=True)
class Materials:
    """`root` is what workers read; `given` the person's own folder, which messages name; None: there is none."""

    root: Path
    given: Path | None

    def config_map(self, name: str) -> dict[str, Path]:
        """Key → file of a ConfigMap; empty if there is none."""
        return keys_of(self.root / CONFIG_MAPS / name)

    def secret(self, name: str) -> dict[str, Path]:
        """Key → file of a Secret; empty if there is none."""
        return keys_of(self.root / SECRETS / name)

    def missing(self, kind: str, name: str, key: str | None = None) -> str:
        """What is missing, and the two ways to give it."""
        folder = SECRETS if kind == "Secret" else CONFIG_MAPS
        keys = self.secret(name) if kind == "Secret" else self.config_map(name)
        what = f"{kind} {name} has no key {key}; it has {', '.join(sorted(keys))}" if keys and key else None
        what = what or f"there is no {kind} {name}"
        if self.given is None:
            return f"{what}: add it to a {kind} document in this file"
        place = self.given / folder / name / (key or "<key>")
        return f"{what}: add it to a {kind} document in these files, or write it to {place}"


@contextmanager
def laid_out(config_maps: Objects, secrets: Objects, given: Path | None = None) -> Iterator[Materials]:
    """Make the folder, readable by nobody else, and remove it in the end.

    Names that the documents do not hold are those of the same layout below `given`.
    """
    with tempfile.TemporaryDirectory(prefix="sendonce-files-") as folder:
        root = Path(folder)
        _fill(root / CONFIG_MAPS, config_maps, given and given / CONFIG_MAPS)
        _fill(root / SECRETS, secrets, given and given / SECRETS)
        yield Materials(root, given)


def _fill(folder: Path, objects: Objects, given: Path | None) -> None:
    folder.mkdir(mode=0o700)
    for name, files in objects.items():
        (folder / name).mkdir(mode=0o700)
        for key, content in files.items():
            file = folder / name / key
            file.touch(mode=0o600)
            file.write_bytes(content)
    for other in sorted(given.glob("*")) if given else ():
        if other.is_dir() and other.name not in objects:
            (folder / other.name).symlink_to(other.resolve())


def keys_of(folder: Path) -> dict[str, Path]:
    """Key → file of one folder."""
    return {path.name: path for path in folder.glob("*") if path.is_file() and not path.name.startswith(".")}
