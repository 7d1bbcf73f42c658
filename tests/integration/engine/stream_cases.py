"""A standing campaign, and what applications and its workers do to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from sendonce_store import imports, stream
from sendonce_store.connection import Connection
from sendonce_worker.importing import normalise_numbered

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

ADA = {"email": "Ada@Example.com", "name": "Ada"}


async def standing(world: World, **wishes: Any) -> Campaign:
    """A campaign with an open stream, which a worker has begun."""
    campaign = await world.campaign(None, recipients={"stream": {}}, **wishes)
    await stream.begin(world.hands, campaign.id)
    return campaign


async def enqueue(conn: Connection, key: str, recipient: Any = None, send_key: str = "spring") -> int:
    """Call the function as an application does."""
    asked = [send_key, key, Jsonb(ADA if recipient is None else recipient)]
    cursor = await conn.execute("SELECT sendonce.enqueue('default', %s, %s, %s) AS no", asked)
    row = await cursor.fetchone()
    assert row is not None
    return int(row["no"])


async def take_in(campaign: Campaign, inbox: stream.Inbox | None = None, most: int = stream.MOST) -> int:
    """Do what a worker does when it looks into the inbox."""
    channels = [message.channel.value for message in campaign.stored.spec.messages]

    def normalise(waiting: Any) -> Any:
        outcome = normalise_numbered(((one.no, one.record) for one in waiting), channels)
        return outcome.recipients, outcome.rejected

    hands = campaign.world.hands
    inbox = inbox or stream.Inbox(await imports.prepare(hands, campaign.id))
    return await stream.take_in(hands, inbox, normalise, most)
