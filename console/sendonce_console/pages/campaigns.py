"""All campaigns that the viewer may see, the newest first, page by page, by namespace, state and text."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from sendonce_console.look import words
from sendonce_console.views.campaigns import REASONS, Row, rows_of
from sendonce_console.web.problems import bad_request, foreign_namespace
from sendonce_console.web.routes import Routes
from sendonce_console.web.templating import address, page, redirect
from sendonce_console.web.visit import Visit
from sendonce_store import console_campaigns
from sendonce_store.console_campaigns import BEGINNING, Wish

routes = Routes()
LONGEST_TEXT = 100


@routes.get("/", needs="campaigns")
async def campaigns(visit: Visit) -> web.Response:
    """The list."""
    wish = wish_of(visit)
    rows, following = await read_rows(visit, wish)
    chosen = {name: visit.query(name) for name in ("namespace", "state", "q")}
    return page(
        visit,
        "campaigns.html",
        rows=rows,
        chosen=chosen,
        namespace_choices=[("", "All of yours"), *((name, name) for name in visit.namespaces)],
        reason_choices=[("", "Any"), *((name, words(name)) for name in REASONS)],
        following=address("/", {**chosen, "after": following}) if following else None,
        first=address("/", dict(chosen)) if wish.before != BEGINNING else None,
    )


@routes.get("/ns/{namespace}", needs="campaigns")
async def of_namespace(visit: Visit) -> web.Response:
    """The list of one namespace."""
    return redirect(address("/", {"namespace": visit.namespace}))


def wish_of(visit: Visit) -> Wish:
    """Which campaigns are asked for. Raises ProblemError for a filter that can't be."""
    namespace, reason, text = visit.query("namespace"), visit.query("state"), visit.query("q")
    if namespace and namespace not in visit.namespaces:
        raise foreign_namespace(namespace)
    if reason and reason not in REASONS:
        raise bad_request("state", f"{reason[:40]!r} is no state of a campaign", f"Use one of {', '.join(REASONS)}.")
    if len(text) > LONGEST_TEXT:
        raise bad_request("q", f"is longer than {LONGEST_TEXT} characters", "Use a part of the campaign's name.")
    names = (namespace,) if namespace else visit.namespaces
    return Wish(names, reason or None, text or None, read_after(visit.query("after")))


def read_after(text: str) -> int:
    """The number behind which a page begins. Raises ProblemError."""
    if not text:
        return BEGINNING
    if not text.isascii() or not text.isdecimal() or not 0 <= int(text[:30]) <= BEGINNING:
        raise bad_request("after", "is not a place in the list", "Use the link to the next page, or begin anew.")
    return int(text)


async def read_rows(visit: Visit, wish: Wish, limit: int = 25) -> tuple[Sequence[Row], int | None]:
    """A page of the list, and where the next one begins."""
    found = (
        await console_campaigns.page(visit.conn, wish, limit) if wish.namespaces else console_campaigns.Page((), None)
    )
    ids = [one.id for one in found.campaigns]
    active = [one.id for one in found.campaigns if one.ended is None]
    records = await console_campaigns.records(visit.conn, ids) if ids else {}
    return rows_of(found.campaigns, records, await console_campaigns.recent(visit.conn, active)), found.next
