"""An address as a person types it: text in, what it is on each channel out."""

from __future__ import annotations

from collections.abc import Iterable

from sendonce_worker.importing.addresses import NORMALISERS
from sendonce_worker.importing.faults import FieldError

__all__ = ["normalised"]


def normalised(text: str, channels: Iterable[str]) -> dict[str, str]:
    """The text as a normalised address of each channel for which it can be one."""
    found = {}
    for channel in channels:
        try:
            found[channel] = NORMALISERS[channel](text.strip()).normalised
        except FieldError:
            continue
    return found
