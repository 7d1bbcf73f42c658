"""What a person wants to get, topic by topic: a link of a message in, a page to choose on, opt-outs and opt-ins out.

The page shows the topics that the person has had messages about or has opted out of. A topic that was not on the page
when it was sent is left as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from aiohttp import web

from sendonce_gateway.answering import words_for
from sendonce_gateway.bodies import read_body
from sendonce_gateway.forms import read_form
from sendonce_gateway.metrics import GatewayMetrics
from sendonce_gateway.opening import Opened, Opener
from sendonce_gateway.pages import button, checkbox, form, page, paragraph
from sendonce_gateway.settings import GatewaySettings
from sendonce_gateway.store import Pool
from sendonce_gateway.wording import Words, fill
from sendonce_store import gateway
from sendonce_store.connection import Connection
from sendonce_store.gateway import Topic

__all__ = ["Change", "changes", "preference_routes", "shown"]

LONGEST_BODY = 32 * 1024
WHOLE = ""


class Change(NamedTuple):
    """An opt-out (`out`) to add or to take back. '' is the whole category."""

    topic: str
    out: bool


def preference_routes(pool: Pool, settings: GatewaySettings, metrics: GatewayMetrics) -> list[web.RouteDef]:
    """The routes under /p/."""
    opener = Opener(pool, settings, "preferences")

    async def show(request: web.Request) -> web.Response:
        opened = await opener.open(request)
        async with pool.connection() as conn:
            topics = await _topics(conn, opened)
        return choosing(opened, topics, words_for(request, settings.languages))

    async def act(request: web.Request) -> web.Response:
        body = await read_body(request, LONGEST_BODY, settings.body_wait)
        fields = read_form(request.headers.get("Content-Type", ""), body)
        opened = await opener.open(request)
        async with pool.connection() as conn, conn.transaction():
            topics = await _topics(conn, opened)
            known = set(fields.get("known", ()))
            made = changes(topics, known, set(fields.get("topic", ())), nothing="nothing" in fields)
            for change in made:
                await _change(conn, opened, change)
            after = await _topics(conn, opened)
        for change in made:
            metrics.wished("out" if change.out else "in", "preferences")
        return choosing(opened, after, words_for(request, settings.languages), saved=True)

    return [web.get("/p/{token}", show), web.post("/p/{token}", act)]


async def _topics(conn: Connection, opened: Opened) -> list[Topic]:
    return shown(await gateway.topics(conn, opened.namespace, opened.wish), opened.wish.topic)


async def _change(conn: Connection, opened: Opened, change: Change) -> None:
    wish = replace(opened.wish, topic=change.topic)
    if change.out:
        await gateway.opt_out(conn, opened.namespace, wish, "preferences")
    else:
        await gateway.opt_in(conn, opened.namespace, wish)


def shown(found: Sequence[Topic], own: str) -> list[Topic]:
    """What can be chosen: the whole category first, then the topics, that of the link among them."""
    topics = {topic.name: topic for topic in (Topic(WHOLE, opted_out=False), Topic(own, opted_out=False), *found)}
    return [topics[name] for name in sorted(topics)]


def changes(topics: Sequence[Topic], known: Collection[str], wanted: Collection[str], *, nothing: bool) -> list[Change]:
    """What the form asks for. `known`: topics that were on the page; `wanted`: those with a tick; `nothing`: no more.

    Where there are no topics, the whole category is what can be chosen. A topic that is wanted again ends an opt-out of
    the whole category: the other topics on the page are then opted out of one by one.
    """
    whole = topics[0]
    named = [topic for topic in topics[1:] if topic.name in known]
    if nothing or (WHOLE in known and WHOLE not in wanted):
        return [] if whole.opted_out else [Change(WHOLE, out=True)]
    if whole.opted_out and not wanted:
        return []
    again = [Change(WHOLE, out=False)] if whole.opted_out else []
    return again + [
        Change(topic.name, out=topic.name not in wanted) for topic in named if topic.opted_out is (topic.name in wanted)
    ]


def choosing(opened: Opened, topics: Sequence[Topic], words: Words, *, saved: bool = False) -> web.Response:
    """The page to choose on."""
    whole, *named = topics
    kind = words.about(replace(opened.wish, topic=WHOLE))
    says = [words.preferences_saved] if saved else []
    if whole.opted_out:
        says.append(fill(words.preferences_none, about=kind))
    buttons = button(words.save_button, "save", "1")
    if named and not whole.opted_out:
        buttons += button(words.stop_button, "nothing", "1", second=True)
    boxes = _boxes(topics, fill(words.preferences_all, about=kind), words)
    return page(words.language, words.preferences_title, *map(paragraph, says), form(*boxes, buttons))


def _boxes(topics: Sequence[Topic], everything: str, words: Words) -> list[str]:
    whole, *named = topics
    if not named:
        return [checkbox(everything, "topic", WHOLE, checked=not whole.opted_out)]
    return [
        checkbox(words.called(topic.name), "topic", topic.name, checked=not (topic.opted_out or whole.opted_out))
        for topic in named
    ]
