"""What a far end's own pages say of it, as far as sending once is concerned; docs/providers.md is written from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One far end. All but the credentials' keys are sentences for people, each with its source where it has one."""

    title: str
    credentials: tuple[str, ...]
    """Keys that its Secret must have."""
    keys: str
    """Whether a repeat with the same key is safe, and for how long."""
    before: str
    """Which refusals are known to come before acceptance."""
    batch: str
    """How several messages go in one request, or why they do not."""
    sizes: str
    """What is checked before the hand-off."""
    pace: str
    metadata: str
    """Where our delivery id goes."""
    probe: str
    """How to test the credentials without sending anything."""
    source: str
