"""What went out to a person, rendered again: a stored campaign and a delivery in, the content with its verdict out.

Compiling a template (MJML, inlined styles) takes longer than all the rest of a page, so a few are kept: what a campaign
says is frozen once it exists. Rendering is done beside the event loop; a template that takes too many steps is ended by
its own meter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache

import orjson

from sendonce_rendering import CompiledMessage
from sendonce_rendering.showing import Shown, compiled
from sendonce_store.links import Links
from sendonce_store.people import Delivery, Person
from sendonce_store.spec import CampaignSpec, Message
from sendonce_worker.previewing.again import shown_again

__all__ = ["contents_of"]


async def contents_of(
    spec: CampaignSpec, person: Person, deliveries: Sequence[Delivery], links: Links | None
) -> list[Shown]:
    """The content of each delivery, in the same order. `links`: what the campaign's are made with."""
    return await asyncio.to_thread(lambda: [shown_again(spec, person, one, links, _compiled) for one in deliveries])


def _compiled(message: Message) -> CompiledMessage:
    return _kept(orjson.dumps(message.to_wire()))


@lru_cache(maxsize=64)
def _kept(message: bytes) -> CompiledMessage:
    return compiled(Message.from_wire(orjson.loads(message)))
