"""The secrets that reports are checked with: a mounted folder in, the values that are good now out.

Each file is a secret, named `namespace.kind.provider.secret` (`shop.ses.mail.topics`), with `_` as the namespace of a
cluster provider. Each line of it is a value: while a secret is being changed there are two. The folder is read again
every two seconds when somebody asks: Kubernetes replaces a mounted Secret with no restart.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from sendonce_gateway.receipts.source import Secrets
from sendonce_store.receipts import EVERY_NAMESPACE, Reporter

__all__ = ["ALL", "SecretFolder", "reporter_of"]

logger = logging.getLogger(__name__)
ALL = "_"
_SECONDS = 2.0
_LARGEST = 64 * 1024
_NONE: Secrets = MappingProxyType({})


def reporter_of(namespace: str, kind: str, provider: str) -> Reporter:
    """Who reports at this address, or in this file's name."""
    return Reporter(EVERY_NAMESPACE if namespace == ALL else namespace, kind, provider)


class SecretFolder:
    """Secrets by who reports."""

    def __init__(self, folder: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is read before somebody asks; None: there are no secrets, and nobody may report."""
        self._folder = folder
        self._clock = clock
        self._read_at = float("-inf")
        self._known: Mapping[Reporter, dict[str, tuple[str, ...]]] = {}

    def secrets_of(self, reporter: Reporter) -> Secrets:
        """What its reports are checked with; empty: it is not set up."""
        if self._folder is not None and self._clock() - self._read_at >= _SECONDS:
            self._read_at = self._clock()
            self._read(self._folder)
        return self._known.get(reporter, _NONE)

    def _read(self, folder: Path) -> None:
        """Read all of it; what was known stays good while the folder can't be read."""
        try:
            self._known = _files(folder)
        except OSError as error:
            logger.warning("the folder of receipts' secrets can't be read: %s", error.strerror or type(error).__name__)


def _files(folder: Path) -> dict[Reporter, dict[str, tuple[str, ...]]]:
    found: dict[Reporter, dict[str, tuple[str, ...]]] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.is_file():
            continue  # Kubernetes keeps the files themselves in hidden folders
        namespace, _, rest = path.name.partition(".")
        kind, _, rest = rest.partition(".")
        provider, _, name = rest.rpartition(".")
        if all((namespace, kind, provider, name)):
            found.setdefault(reporter_of(namespace, kind, provider), {})[name] = _lines(path)
    return found


def _lines(path: Path) -> tuple[str, ...]:
    with path.open("rb") as file:
        text = file.read(_LARGEST).decode("utf-8", "replace")
    return tuple(line.strip() for line in text.splitlines() if line.strip())
