"""How an order is given: who, which campaign and what in; what has come of it so far out.

Two makers: `kubernetes` (a NotificationAction, or a wish in the campaign's spec) and `local` (the store itself).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from sendonce_store.spec import ActionSpec
from sendonce_store.standing import Overview

__all__ = ["Given", "Levers", "Wish", "WishNote"]


class Wish(Enum):
    """A state that is wished for and stands in the campaign's spec."""

    SUSPEND = "suspend"
    GO_ON = "go-on"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Given:
    """An order that was given. `refused`: it can't be carried out, and why; `message`: what it has done so far."""

    name: str
    message: str = ""
    refused: str = ""


@dataclass(frozen=True, slots=True)
class WishNote:
    """Who wished for a state, and when."""

    what: str
    who: str
    at: datetime | None


class Levers(Protocol):
    """Gives orders. Raises ProblemError."""

    async def order(self, who: str, campaign: Overview, name: str, spec: ActionSpec) -> Given:
        """Give an order; the same name again changes nothing."""

    async def wish(self, who: str, campaign: Overview, wish: Wish) -> Given:
        """Wish for a state."""

    async def state_of(self, campaign: Overview, name: str) -> Given | None:
        """What is known of an order that the ledger does not have; None: nothing."""

    async def wishes(self, campaign: Overview) -> Sequence[WishNote]:
        """Who wished for the states that the ledger does not tell of."""

    async def close(self) -> None:
        """Let go of connections."""
