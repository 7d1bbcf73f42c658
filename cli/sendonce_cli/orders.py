"""A person's orders to a campaign: documents and options in, the store's `Order` out, and its result for people."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from sendonce_cli.exits import CliError
from sendonce_store import actions, ledger
from sendonce_store.actions import Applied, Order, Target
from sendonce_store.connection import Connection
from sendonce_store.standing import Overview
from sendonce_worker.sending.plan import patience

__all__ = ["OrderResult", "fresh_name", "give"]


@dataclass(frozen=True, slots=True)
class OrderResult:
    """What an action did. `again`: it had been applied before, and this is its first result."""

    name: str
    type: str
    campaign: str
    matched: int
    changed: int
    message: str
    again: bool

    def __str__(self) -> str:
        """One line for people."""
        said = f" (applied before as {self.name}; nothing was done now)" if self.again else ""
        return f"{self.campaign}: {self.message}{said}"


def fresh_name(kind: str) -> str:
    """A name for an action that nobody named."""
    return f"{kind.lower()}-{uuid.uuid4().hex[:12]}"


async def give(conn: Connection, campaign: Overview, order: Order) -> OrderResult:
    """Apply an order. Raises ActionError, CliError when there is nothing left that it could change."""
    if campaign.data_deleted_at is not None and order.type not in {"Promote", "Resume"}:
        when = campaign.data_deleted_at.isoformat(timespec="seconds")
        raise CliError(
            f"{campaign.send_key}: the recipients' data was deleted at {when}; nothing is left to {order.type}"
        )
    seconds = patience(await ledger.longest_timeout(conn, campaign.id))
    timed = replace(order, patience=seconds)
    applied: Applied = await actions.apply(conn, Target(campaign.id, campaign.namespace), timed)
    return OrderResult(
        order.name, order.type, campaign.send_key, applied.matched, applied.changed, applied.message, applied.again
    )
