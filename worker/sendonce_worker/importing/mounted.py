"""ConfigMaps and Secrets as files: `<root>/configmaps/<name>/<key>`, `<root>/secrets/<name>/<key>`.

A pod mounts them there, with `optional: true`, so that a missing one is told here rather than by a pod that hangs.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sendonce_store.spec.metadata import ConfigMapKeyRef, SecretKeyRef, SecretRef

from .errors import ConfigMapNotFoundError, SecretNotFoundError, SourceUnreadableError

_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Files:
    """The folder under which a campaign's ConfigMaps and Secrets are mounted."""

    root: Path

    def config_map(self, ref: ConfigMapKeyRef, field: str) -> Path:
        """The file of a key of a ConfigMap. Raises `ConfigMapNotFoundError`."""
        path = self.root / "configmaps" / ref.name / ref.key
        if not path.is_file():
            raise ConfigMapNotFoundError(field, _missing("ConfigMap", path))
        return path

    def secret(self, ref: SecretKeyRef, field: str) -> Path:
        """The file of a key of a Secret. Raises `SecretNotFoundError`."""
        path = self.root / "secrets" / ref.name / ref.key
        if not path.is_file():
            raise SecretNotFoundError(field, _missing("Secret", path))
        return path

    def secret_text(self, ref: SecretKeyRef, field: str) -> str:
        """A key of a Secret as one line of text, without space around it. Raises `SecretNotFoundError`."""
        return _read_text(self.secret(ref, field), field)

    def secret_items(self, ref: SecretRef, field: str) -> Mapping[str, str]:
        """All keys of a Secret with their text. Raises `SecretNotFoundError`."""
        folder = self.root / "secrets" / ref.name
        keys = _keys(folder)
        if not keys:
            problem = f"Secret {ref.name} is not there, or holds nothing; create it in the campaign's namespace"
            raise SecretNotFoundError(field, problem)
        return {key: _read_text(folder / key, field) for key in keys}


@dataclass(slots=True)
class MountedFile:
    """The bytes of one mounted file. It stays the same file also when the mount is updated meanwhile."""

    path: Path
    field: str
    etag: str | None = None
    gzipped: bool = False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The bytes from the beginning. Raises `SourceUnreadableError`."""
        try:
            with await asyncio.to_thread(self.path.open, "rb") as file:
                while chunk := await asyncio.to_thread(file.read, _CHUNK):
                    yield chunk
        except OSError as error:
            raise SourceUnreadableError(self.field, f"cannot be read: {error.strerror}") from None


def _keys(folder: Path) -> list[str]:
    # Kubernetes keeps the real files in folders named ..data and ..<time>
    return sorted(path.name for path in folder.glob("*") if path.is_file() and not path.name.startswith(".."))


def _missing(kind: str, path: Path) -> str:
    name, keys = path.parent.name, _keys(path.parent)
    if keys:
        return f"{kind} {name} has no key {path.name}; it has {', '.join(keys[:20])}"
    return f"{kind} {name} with key {path.name} is not there; create it in the campaign's namespace"


def _read_text(path: Path, field: str) -> str:
    try:
        return path.read_bytes().decode().strip()
    except UnicodeDecodeError:
        problem = f"key {path.name} of Secret {path.parent.name} is not text in UTF-8"
        raise SourceUnreadableError(field, problem) from None
