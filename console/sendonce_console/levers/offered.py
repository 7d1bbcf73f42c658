"""Which levers the head of a campaign's pages offers: how it stands and what the viewer may do in, levers out. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from sendonce_console.levers.wording import LEVERS, Lever
from sendonce_store.standing import Overview

__all__ = ["offered"]


class _Rights(Protocol):
    @property
    def levers(self) -> bool: ...

    @property
    def wishes(self) -> bool: ...


def offered(campaign: Overview, rights: _Rights) -> list[Lever]:
    """The levers that would do something now, the most wanted first."""
    there = {"levers": rights.levers, "wishes": rights.wishes}
    return [LEVERS[key] for key in _useful(campaign) if there[LEVERS[key].needs]]


def _useful(c: Overview) -> Iterator[str]:
    if c.data_deleted_at is not None:
        return
    if c.ended is None and not c.cancelled:
        if c.rollout_stage == "awaiting":
            yield "promote"
        if c.halt_reason is not None:
            yield "resume"
        yield "go-on" if c.suspended else "suspend"
        yield "cancel"
    elif c.halt_reason is not None:
        yield "resume"
