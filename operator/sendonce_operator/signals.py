"""How a reconcile stops before its end. All of them are tried again, or looked at again after a change."""

from __future__ import annotations

from sendonce_operator.decisions.facts import Refusal


class RefusedError(Exception):
    """Nothing can be done for the object now; the refusal goes into its status."""

    def __init__(self, refusal: Refusal) -> None:
        """Keep the refusal."""
        super().__init__(refusal.message)
        self.refusal = refusal


class BusyError(Exception):
    """The object, or its row, changed meanwhile: look again at once."""


class GoneError(Exception):
    """The object is gone, or going: there is nothing to do for it any more."""
