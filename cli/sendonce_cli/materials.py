"""ConfigMaps and Secrets as a Pod would see them: documents and a folder in, one private folder of files out.

The folder has `configmaps/<name>/<key>` and `secrets/<name>/<key>`. What the documents hold comes first; names that
they do not hold are those of the same layout below `--files DIR`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sendonce_cli.bundle import Bundle

__all__ = ["Materials", "materialised"]

CONFIG_MAPS, SECRETS = "configmaps", "secrets"


@dataclass(frozen=True, slots=True)
class Materials:
    """`root` is what workers read; `given` the person's own folder, which messages name."""

    root: Path
    given: Path

    def config_map(self, name: str) -> dict[str, Path]:
        """Key → file of a ConfigMap; empty if there is none."""
        return _keys(self.root / CONFIG_MAPS / name)

    def secret(self, name: str) -> dict[str, Path]:
        """Key → file of a Secret; empty if there is none."""
        return _keys(self.root / SECRETS / name)

    def missing(self, kind: str, name: str, key: str | None = None) -> str:
        """What is missing, and the two ways to give it."""
        folder = SECRETS if kind == "Secret" else CONFIG_MAPS
        keys = self.secret(name) if kind == "Secret" else self.config_map(name)
        place = self.given / folder / name / (key or "<key>")
        what = f"{kind} {name} has no key {key}; it has {', '.join(sorted(keys))}" if keys and key else None
        what = what or f"there is no {kind} {name}"
        return f"{what}: add it to a {kind} document in these files, or write it to {place}"


@contextmanager
def materialised(bundle: Bundle, given: Path, namespace: str) -> Iterator[Materials]:
    """Make the folder, readable by nobody else, and remove it in the end."""
    with tempfile.TemporaryDirectory(prefix="sendonce-files-") as folder:
        root = Path(folder)
        _fill(root / CONFIG_MAPS, bundle.config_maps(namespace), given / CONFIG_MAPS)
        _fill(root / SECRETS, bundle.secrets(namespace), given / SECRETS)
        yield Materials(root, given)


def _fill(folder: Path, objects: Mapping[str, Mapping[str, bytes]], given: Path) -> None:
    folder.mkdir(mode=0o700)
    for name, files in objects.items():
        (folder / name).mkdir(mode=0o700)
        for key, content in files.items():
            file = folder / name / key
            file.touch(mode=0o600)
            file.write_bytes(content)
    for other in sorted(given.glob("*")):
        if other.is_dir() and other.name not in objects:
            (folder / other.name).symlink_to(other.resolve())


def _keys(folder: Path) -> dict[str, Path]:
    return {path.name: path for path in folder.glob("*") if path.is_file() and not path.name.startswith(".")}
