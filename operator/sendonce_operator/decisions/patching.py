"""What of a status has to be written: two wire objects in, a JSON merge patch out (RFC 7386).

A field that went away is named with null, or the API server keeps it. Lists are replaced whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What turns `old` into `new`; empty where they are equal."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if value == before and name in old:
            continue
        both = isinstance(value, Mapping) and isinstance(before, Mapping)
        patch[name] = merge_patch(before, value) if both else value  # type: ignore[arg-type]
    return patch
