"""Whether the watches still tell of changes: a watch can die in silence while everything else looks well.

Every minute all objects are listed. What a list shows and the watch has not shown by the next time is lost: the watch
of that kind is dead, and only a restart of the process helps. Meanwhile what was listed is taken in.

Nothing has to be written for it: a watch that has nothing to tell is as good as one that is alive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sendonce_operator.objects import key_of
from sendonce_operator.paths import Key


@dataclass(slots=True)
class Canary:
    """What watches have shown, against what lists show. Times are monotonic, in seconds."""

    heard: dict[Key, int] = field(default_factory=dict)
    missing: dict[Key, tuple[int, float]] = field(default_factory=dict)  # version that is not shown yet, since when

    def hear(self, kind: str, body: Mapping[str, Any], *, gone: bool) -> None:
        """A watch showed an object."""
        key, version = key_of(kind, body), version_of(body)
        if gone and version < self.heard.get(key, 0):
            return  # of an object that was made again since: one watch tells of both in any order
        if gone:
            self.heard.pop(key, None)
            self.missing.pop(key, None)
            return
        self.heard[key] = max(version, self.heard.get(key, 0))
        if key in self.missing and self.missing[key][0] <= version:
            del self.missing[key]

    def versions(self, kind: str) -> dict[Key, int]:
        """What the watch of a kind has shown: to be taken down before a list is read."""
        return {key: version for key, version in self.heard.items() if key.kind == kind}

    def forget(self, before: Mapping[Key, int], listed: Mapping[Key, int]) -> None:
        """Forget what had been shown before a list was read, and is not in it: a watch may have missed its end."""
        for key, version in before.items():
            if key not in listed and self.heard.get(key) == version:
                del self.heard[key]

    def compare(self, kind: str, listed: Mapping[Key, int], now: float) -> None:
        """A list of a kind (key → version) was read."""
        for key, version in listed.items():
            if self.heard.get(key, 0) < version:
                self.missing.setdefault(key, (version, now))
        for key in [key for key in self.missing if key.kind == kind and key not in listed]:
            del self.missing[key]

    def age(self, now: float) -> float:
        """Seconds for which the oldest change has not been shown; 0 when the watches are well."""
        return max((now - since for _, since in self.missing.values()), default=0.0)


def version_of(body: Mapping[str, Any]) -> int:
    """The resourceVersion as a number, by which versions of one object are compared (KEP-5504)."""
    text = body["metadata"].get("resourceVersion", "")
    return int(text) if text.isdecimal() else 0
