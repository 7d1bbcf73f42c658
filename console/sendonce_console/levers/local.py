"""Orders on one's own machine: the store's own functions, as the command line uses them."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from http import HTTPStatus

from sendonce_console.levers.interface import Given, Wish, WishNote
from sendonce_console.web.problems import ProblemError
from sendonce_store import actions, ledger
from sendonce_store.actions import ActionError, Target
from sendonce_store.connection import connect
from sendonce_store.ordering import order_of
from sendonce_store.spec import ActionSpec
from sendonce_store.standing import Overview

__all__ = ["LocalLevers"]

log = logging.getLogger(__name__)
# how long the page waits for an order to be carried out
WAITED_SECONDS = 3.0
# beside the longest time-out: how much longer an attempt can be under way
PATIENCE_MARGIN = 15.0


class LocalLevers:
    """Writes as the owner of the store, over a connection of its own for each order."""

    def __init__(self, dsn: str) -> None:
        """`dsn`: of the owner."""
        self._dsn = dsn
        self._under_way: set[asyncio.Task[Given]] = set()

    async def order(self, who: str, campaign: Overview, name: str, spec: ActionSpec) -> Given:
        """Apply it; one that takes longer than a person waits goes on by itself, and the ledger tells how far it is."""
        task = asyncio.create_task(self._apply(who, campaign, name, spec))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        done, _ = await asyncio.wait({task}, timeout=WAITED_SECONDS)
        return task.result() if done else Given(name)

    def _ended(self, task: asyncio.Task[Given]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.warning("an order was not carried out: %s", type(task.exception()).__name__)

    async def _apply(self, who: str, campaign: Overview, name: str, spec: ActionSpec) -> Given:
        async with await connect(self._dsn, application_name="sendonce console, orders") as conn:
            patience = await ledger.longest_timeout(conn, campaign.id) + PATIENCE_MARGIN
            order = order_of(name, spec, patience, who)
            try:
                applied = await actions.apply(conn, Target(campaign.id, campaign.namespace), order)
            except ActionError as error:
                raise ProblemError(HTTPStatus.CONFLICT, "This can't be done any more", f"{error}.") from None
        return Given(name, applied.message)

    async def wish(self, who: str, campaign: Overview, wish: Wish) -> Given:
        """Write it, and note who wished it."""
        name = f"{wish.value}-{uuid.uuid4().hex[:12]}"
        async with await connect(self._dsn, application_name="sendonce console, orders") as conn:
            if campaign.ended is not None:
                detail = f"It has ended ({campaign.ended_reason}); there is nothing left to {wish.value}."
                raise ProblemError(HTTPStatus.CONFLICT, "The campaign has ended", detail)
            changed = 0
            if wish is Wish.CANCEL:
                changed = await actions.cancel(conn, campaign.id)
                message = f"{changed} deliveries cancelled"
            else:
                await actions.suspend(conn, campaign.id, suspended=wish is Wish.SUSPEND)
                message = "suspended" if wish is Wish.SUSPEND else "goes on"
            note = actions.WishNoted(name, _TYPES[wish], changed, message, who)
            await actions.note_wish(conn, Target(campaign.id, campaign.namespace), note)
        return Given(name, message)

    async def state_of(self, campaign: Overview, name: str) -> Given | None:
        """The ledger has them all."""
        del campaign, name
        return None

    async def wishes(self, campaign: Overview) -> Sequence[WishNote]:
        """The ledger has them all."""
        del campaign
        return ()

    async def close(self) -> None:
        """An order that is under way goes on where it was when it is given again under its name."""
        for task in tuple(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)


_TYPES = {Wish.SUSPEND: "Suspend", Wish.GO_ON: "GoOn", Wish.CANCEL: "Cancel"}
