"""The proof of a finished campaign: a page to print, and the same as a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version

from aiohttp import web

from sendonce_console.pages.campaign import CAMPAIGN, find_campaign
from sendonce_console.web.problems import ProblemError, bad_request, not_found
from sendonce_console.web.routes import Routes
from sendonce_console.web.visit import Visit
from sendonce_store import proof
from sendonce_store.masking import mask_foreign
from sendonce_store.proof import CONTENT_SECURITY_POLICY, Proof, ProofError

__all__ = ["FORMS", "proved", "routes"]

routes = Routes()


@dataclass(frozen=True, slots=True)
class Form:
    """One form of the report."""

    write: Callable[[Proof], bytes]
    content_type: str
    policy: str = ""


FORMS: Mapping[str, Form] = {
    "html": Form(proof.to_html, "text/html", f"{CONTENT_SECURITY_POLICY}; base-uri 'none'; frame-ancestors 'none'"),
    "json": Form(proof.to_json, "application/json"),
    "csv": Form(proof.to_csv, "text/csv"),
}


@routes.get(f"{CAMPAIGN}/proof", needs="campaigns")
async def page(visit: Visit) -> web.StreamResponse:
    """As a page; with `format` as a file to keep."""
    form = visit.query("format") or "html"
    answer = await proved(visit, form)
    if form != "html":
        # a send key is a DNS label, as the name is
        answer.headers["Content-Disposition"] = f'attachment; filename="proof-{visit.campaign}.{form}"'
    return answer


async def proved(visit: Visit, form: str) -> web.Response:
    """The report in a form. Raises ProblemError."""
    if form not in FORMS:
        raise bad_request("format", f"{form} is none there is", f"Use {', '.join(FORMS)}.")
    campaign = await find_campaign(visit)
    facts = await proof.read(visit.conn, campaign.id)
    if facts is None:
        raise not_found(f"There is no campaign {visit.campaign} any more", "Its record was deleted.")
    try:
        found = proof.build(facts, f"sendonce {version('sendonce')}", mask_foreign)
    except ProofError as error:
        raise ProblemError(HTTPStatus.CONFLICT, "There is no proof yet", str(error)) from None
    chosen = FORMS[form]
    headers = {"Content-Security-Policy": chosen.policy} if chosen.policy else {}
    return web.Response(body=chosen.write(found), content_type=chosen.content_type, charset="utf-8", headers=headers)
