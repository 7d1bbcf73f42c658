"""A provider's Secret: reading it, and keeping it out of messages.

In: the keys and bytes of the credentials Secret. Out: text values, and words of the far end with every
secret blotted out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sendonce_worker.providers.errors import ProviderConfigError

_SHORTEST = 6
"""Characters; shorter values are no secrets, and blotting them out would garble ordinary words."""


def as_text(secrets: Mapping[str, bytes]) -> dict[str, str]:
    """Decode the values. Raises ``ProviderConfigError`` naming the key whose value is not UTF-8."""
    return {name: _decode(name, value) for name, value in secrets.items()}


class Blotter:
    """Replaces secrets by ``***`` in words that are kept or logged."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """Values of under six characters stay."""
        values = sorted((value for value in secrets.values() if len(value) >= _SHORTEST), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, values))) if values else None

    def blot(self, words: str) -> str:
        """Return the words without secrets."""
        return self._pattern.sub("***", words) if self._pattern else words


def _decode(name: str, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ProviderConfigError(
            "credentialsSecretRef", f"the value of the Secret's key {name!r} is not UTF-8 text"
        ) from error
