"""A campaign file before it is applied, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from sendonce_console.api.preview_shapes import PreviewRecord, preview_of
from sendonce_console.pages.preview import FORMS, previewed
from sendonce_console.views.previewing import Asked
from sendonce_console.web.problems import bad_request
from sendonce_console.web.records import reply, sent_object
from sendonce_console.web.routes import Routes
from sendonce_console.web.visit import Visit

routes = Routes()


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """`text`: a campaign's document, with its ConfigMaps. `recipients`: whose messages, by id, address or `line:12`.

    `people`: a list to try it with, in `format` (CSV or NDJSON), where the text does not hold the recipients.
    """

    text: str
    recipients: Sequence[str] = ()
    people: str = ""
    format: str = "CSV"


@routes.post(
    "/api/v1/namespaces/{namespace}/preview",
    needs="campaigns",
    returns=PreviewRecord,
    takes=PreviewRequest,
    reads=False,
)
async def preview(visit: Visit) -> web.Response:
    """Check a campaign's file and render its messages. Nothing is sent, nothing is kept, nothing else is opened."""
    sent = await sent_object(visit.request)
    text, people, form = sent.get("text"), sent.get("people") or "", sent.get("format") or "CSV"
    who = sent.get("recipients") or []
    if not isinstance(text, str) or not text.strip():
        raise bad_request("text", "is no text of a campaign", "Give the file's content.")
    if not isinstance(people, str) or form not in FORMS:
        raise bad_request("people", "is no list that can be read", f"Give a text, and format {' or '.join(FORMS)}.")
    if not isinstance(who, list) or not all(isinstance(one, str) for one in who):
        raise bad_request("recipients", "is no list of texts", "Give ids, addresses or line:12.")
    found = await previewed(Asked(text, people, form, who, visit.console.settings.gateway_url), visit.namespace)
    return reply(preview_of(found))
