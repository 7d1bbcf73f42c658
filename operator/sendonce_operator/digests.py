"""Specs with SHA-256 sums in the place of what may be large: enough to see whether anything changed.

All annotations of an object may have 256 KiB together, and a spec alone can have that.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

LARGE_FIELDS = ("recipients", "messages")
# specs that are remembered: an active campaign is seen every few seconds
MOST = 2000


class Digests:
    """Digested specs by the uid and generation of their objects."""

    def __init__(self, most: int = MOST) -> None:
        """Remember so many."""
        self._most = most
        self._known: OrderedDict[str, tuple[int, Mapping[str, Any]]] = OrderedDict()

    def of(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """What a person writes of an object, with its large fields digested: no status, and not who wrote what.

        kopf copies all that it is given, value by value, before it leaves those out itself: at every write of a status.
        """
        metadata = {name: value for name, value in body["metadata"].items() if name != "managedFields"}
        kept = {name: value for name, value in body.items() if name != "status"} | {"metadata": metadata}
        spec = body.get("spec") or {}
        if any(name in spec for name in LARGE_FIELDS):
            kept["spec"] = dict(self._spec(metadata.get("uid", ""), metadata.get("generation", 0), spec))
        return kept

    def _spec(self, uid: str, generation: int, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        known = self._known.pop(uid, None)
        if known is None or known[0] != generation:
            known = (generation, digested(spec))
        self._known[uid] = known
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return known[1]


def digested(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with its large fields digested."""
    return {name: _sum(value) if name in LARGE_FIELDS else value for name, value in spec.items()}


def _sum(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
