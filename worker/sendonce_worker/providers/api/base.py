"""What the module of a far end brings: pure, no I/O, about 60 lines each.

In: the provider's spec and its Secret, once; then messages and answers. Out: requests (:class:`Call`) and readings.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.table import Reading, Row
from sendonce_worker.providers.api.tokens import Grant
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import ProviderConfigError
from sendonce_worker.providers.http1.connection import Answer

BlockT = TypeVar("BlockT")
SECRET_FIELD = "credentialsSecretRef"  # noqa: S105 - a field's name
_VISIBLE = re.compile(r"[!-~]+")


# not frozen: one for each delivery, and a frozen one takes twice as long to make
@dataclass(slots=True)
class Call:
    """One POST. ``path`` is below the far end's address, or a whole URL where that differs by recipient."""

    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class Credentials:
    """The Secret's values, by key; whatever is missing or cannot be right is said before the first message."""

    def __init__(self, values: Mapping[str, str], facts: Facts) -> None:
        """``values`` is empty where the provider names no Secret."""
        self._values = values
        self._facts = facts

    def text(self, key: str) -> str:
        """Return a value as it is. Raises ``ProviderConfigError`` if it is missing or blank."""
        if not self._values:
            raise ProviderConfigError(SECRET_FIELD, f"names no Secret with anything in it: {self._wanted()}")
        if key not in self._values:
            has = ", ".join(sorted(self._values))
            raise ProviderConfigError(SECRET_FIELD, f"the Secret has no key {key!r}, only {has}: {self._wanted()}")
        if not self._values[key].strip():
            raise ProviderConfigError(SECRET_FIELD, f"the Secret's key {key!r} is empty: {self._wanted()}")
        return self._values[key]

    def word(self, key: str) -> str:
        """Return a value that goes into a header or an address. Raises ``ProviderConfigError`` for white space."""
        value = self.text(key)
        if not _VISIBLE.fullmatch(value):
            hint = "ends with a line break: store it without one" if value.endswith("\n") else "is not one ASCII word"
            raise ProviderConfigError(SECRET_FIELD, f"the value of the Secret's key {key!r} {hint}")
        return value

    def word_or_none(self, key: str) -> str | None:
        """Return a value that need not be there."""
        return self.word(key) if key in self._values else None

    def basic(self, user: str, password: str) -> str:
        """Return an Authorization header's value (RFC 7617)."""
        return f"Basic {b64encode(f'{user}:{password}'.encode()).decode('ascii')}"

    def _wanted(self) -> str:
        return f"{self._facts.title} needs {' and '.join(self._facts.credentials)}"


class Api(ABC):
    """One far end, set up. Attributes that a module does not set say: nothing of that kind."""

    facts: ClassVar[Facts]
    table: ClassVar[tuple[Row, ...]] = ()

    origin: str | None = None
    """URL below which all calls go; None: each recipient has an own one."""
    headers: Mapping[str, str]
    """Header lines that are the same for all messages."""
    key_window: float | None = None
    """Seconds for which a repeat with the same key is safe."""
    grant: Grant | None = None
    """Where access tokens come from."""

    @abstractmethod
    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """Raises ``ProviderConfigError`` for what can be known to be wrong before the first message."""

    @abstractmethod
    def call(self, message: Message, now: datetime, /) -> Call:
        """Return the request. Raises ``SendError`` for a message that the far end would never take."""

    @abstractmethod
    def read(self, answer: Answer, now: datetime, /) -> Reading:
        """Return what the answer says."""


def needed(block: BlockT | None, name: str) -> BlockT:
    """Return a block that is there, since the spec's rules ask for it. Raises ``ProviderConfigError``."""
    if block is None:
        raise ProviderConfigError(name, "is missing")
    return block
