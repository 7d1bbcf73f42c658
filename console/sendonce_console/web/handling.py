"""What stands in front of every handler: who asks, may they, where do they read. Requests in, visits out.

A namespace that is not there and one that is not theirs are the same 404. A right that is missing in a namespace whose
campaigns they may see is a 403 that says which right it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext

from aiohttp import web

from sendonce_console.access.forms import FIELD, HEADER
from sendonce_console.access.viewer import WHATS, Viewer, What
from sendonce_console.console import Console
from sendonce_console.web.known import admitted
from sendonce_console.web.problems import ProblemError, bad_request, forbidden, foreign_namespace
from sendonce_console.web.routes import Route
from sendonce_console.web.visit import Rights, Visit

NEEDED = {
    "campaigns": "get notificationcampaigns.sendonce.dev",
    "people": "get notificationcampaigns.sendonce.dev/recipients",
    "levers": "create notificationactions.sendonce.dev",
    "wishes": "patch notificationcampaigns.sendonce.dev",
}
"""The right of Kubernetes behind each word."""


def served(console: Console, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The handler for aiohttp."""

    async def serve(request: web.Request) -> web.StreamResponse:
        entered = console.door.entrance(request)
        if entered is not None:
            return entered
        viewer = await _viewer(console, route, request)
        if isinstance(viewer, web.Response):
            return viewer
        seed = console.forms.seed(request)
        form = await _form(console, request, viewer)
        namespace, namespaces, rights = await _scope(console, route, request, viewer)
        async with console.reader.read(namespaces) if route.reads else nullcontext() as conn:
            token = console.forms.token(seed)
            visit = Visit(request, console, viewer, namespace, namespaces, rights, conn, form, token)
            response = await route.handler(visit)
        if not route.is_api:
            console.forms.keep(request, response, seed)
        return response

    return serve


async def _viewer(console: Console, route: Route, request: web.Request) -> Viewer | web.Response:
    viewer = await admitted(console, request)
    if viewer is not None:
        return viewer
    refused = console.door.refusal(request)
    if isinstance(refused, ProblemError):
        raise refused
    if route.is_api:
        detail = "Send a token of yours as `Authorization: Bearer …`."
        raise ProblemError(401, "Who are you?", detail, {"WWW-Authenticate": "Bearer"})
    return refused


async def _form(console: Console, request: web.Request, viewer: Viewer) -> Mapping[str, str]:
    """The fields of a POST. A form of a page carries its token; a program that names itself needs none."""
    if request.method != "POST":
        return {}
    fields = {} if request.content_type == "application/json" else await read_form(request)
    if viewer.by_cookie or not request.path.startswith("/api/"):
        console.forms.check(request, fields.get(FIELD) or request.headers.get(HEADER) or "")
    elif request.headers.get("Sec-Fetch-Site", "none") not in {"same-origin", "none"}:
        # a proxy in front may add the token to what another site's page sends
        raise ProblemError(
            403, "This comes from another site", "Send it from a program, or from a page of the console."
        )
    elif request.content_type != "application/json":
        raise ProblemError(415, "This is not JSON", "Send the body as application/json.")
    return fields


async def read_form(request: web.Request) -> Mapping[str, str]:
    """A form's fields, files among them as text. Raises ProblemError."""
    try:
        given = await request.post()
    except ValueError as error:
        raise bad_request("form", "can't be read", "Send it again from the page.") from error
    return {name: _text(name, value) for name, value in given.items()}


def _text(name: str, value: object) -> str:
    """A field as text. Of a file that was not chosen a browser sends nothing, as bytes and without a name."""
    if isinstance(value, web.FileField):
        value = value.file.read()
    if not isinstance(value, bytes | bytearray):
        return str(value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad_request(name, "the file is not text in UTF-8", "Save it as UTF-8 and send it again.") from error


async def _scope(
    console: Console, route: Route, request: web.Request, viewer: Viewer
) -> tuple[str, Sequence[str], Rights]:
    if route.needs == "sign-in":
        return "", (), Rights()
    needed: What = route.needs
    namespace = request.match_info.get("namespace", "")
    if not namespace:
        return "", await allowed(console, viewer, needed), Rights()
    rights = await _rights_in(console, viewer, namespace)
    if (needed == "people" and not rights.people) or (needed == "levers" and not rights.levers):
        raise forbidden(f"It takes the right to {NEEDED[needed]} in namespace {namespace}.")
    return namespace, (namespace,), rights


async def _rights_in(console: Console, viewer: Viewer, namespace: str) -> Rights:
    """Raises the same error for a namespace that is not there and one that is not theirs."""
    campaigns, people, levers, wishes = await asyncio.gather(*(viewer.may(namespace, what) for what in WHATS))
    if not campaigns or namespace not in await console.reader.namespaces():
        raise foreign_namespace(namespace)
    return Rights(people, levers, wishes)


async def allowed(console: Console, viewer: Viewer, what: What) -> Sequence[str]:
    """The namespaces in which the viewer has a right, in order."""
    names = await console.reader.namespaces()
    answers = await asyncio.gather(*(viewer.may(name, what) for name in names))
    return tuple(name for name, yes in zip(names, answers, strict=True) if yes)
