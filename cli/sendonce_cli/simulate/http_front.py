"""The HTTP side: one hand-off per POST or PUT to any path, JSON or form.

In: requests that have been read to their last byte; a sender that goes away before that has handed
nothing over. Out: the answer that ``far_end`` decided, or a reset connection.
"""

import hashlib
import json
from collections.abc import Mapping
from hmac import compare_digest
from urllib.parse import parse_qsl

from aiohttp import web

from sendonce_cli.simulate.answers import GARBAGE, Verdict, http_answer
from sendonce_cli.simulate.far_end import FarEnd, HandOff
from sendonce_cli.simulate.outcomes import Cause, Outcome, Reply
from sendonce_cli.simulate.settings import SimulatorSettings
from sendonce_cli.simulate.sockets import reset

_FORM = "application/x-www-form-urlencoded"


class HttpFront:
    """Turns requests into hand-offs and verdicts into responses."""

    def __init__(self, far_end: FarEnd, settings: SimulatorSettings) -> None:
        self._far_end = far_end
        self._settings = settings
        self._authorization = None if settings.token is None else f"Bearer {settings.token}".encode()

    async def hand_off(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one hand-off."""
        if request.method not in ("POST", "PUT"):
            return web.json_response({"message": "POST a message"}, status=405)
        body = await request.read()
        return _respond(request, await self._verdict(request, body), self._settings)

    async def _verdict(self, request: web.BaseRequest, body: bytes) -> Verdict:
        to = recipient(request.content_type, body, self._settings.to_fields)
        names = self._settings.key_headers
        key = next((request.headers[name] for name in names if name in request.headers), None)
        digest = hashlib.sha256(body).hexdigest()
        hand_off = HandOff("http", request.path, to or "", key or None, digest)
        if not self._authorized(request):
            return self._far_end.refuse(hand_off, Outcome.ACCOUNT, Cause.CREDENTIALS)
        if not to:
            return self._far_end.refuse(hand_off, Outcome.REFUSED, Cause.MALFORMED)
        return await self._far_end.carry_out(self._far_end.plan(hand_off), hand_off)

    def _authorized(self, request: web.BaseRequest) -> bool:
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        return self._authorization is None or compare_digest(given, self._authorization)


def recipient(content_type: str, body: bytes, paths: tuple[str, ...]) -> str | None:
    """Return the recipient that stands in the body, or None if there is none or it is no text.

    A path such as ``message.to`` or ``to.0`` goes into objects and lists; a list with one text
    stands for that text.
    """
    fields = _fields(content_type, body)
    found = (_at(fields, path.split(".")) for path in paths)
    value = next((value for value in found if value is not None), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _fields(content_type: str, body: bytes) -> object:
    try:
        if content_type == _FORM:
            return dict(parse_qsl(body.decode()))
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _at(value: object, path: list[str]) -> object:
    for name in path:
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _respond(request: web.BaseRequest, verdict: Verdict, settings: SimulatorSettings) -> web.StreamResponse:
    if verdict.reply is Reply.ANSWERED:
        answer = http_answer(verdict, settings.style_at(request.path), settings.conflict_status)
        return web.Response(
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            content_type="application/json",
        )
    if request.transport is not None:
        if verdict.reply is Reply.GARBAGE:
            request.transport.write(GARBAGE)
            request.transport.close()
        else:
            reset(request.transport)
    # Nothing of this response is sent: its connection is closed.
    return web.Response()
