"""The HTTP side: one hand-off per POST or PUT to any path, JSON or form; several where the path is that of a batch.

In: requests that have been read to their last byte; a sender that goes away before that has handed
nothing over. Out: the answer that ``far_end`` decided, or a reset connection.
"""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from hmac import compare_digest
from urllib.parse import parse_qsl

from aiohttp import web

from sendonce_cli.simulate.answers import GARBAGE, Verdict, batch_answer, http_answer
from sendonce_cli.simulate.far_end import FarEnd
from sendonce_cli.simulate.hand_off import HandOff
from sendonce_cli.simulate.manners import TOKEN
from sendonce_cli.simulate.outcomes import Cause, Outcome, Reply
from sendonce_cli.simulate.settings import SimulatorSettings, Style
from sendonce_cli.simulate.sockets import reset

_FORM = "application/x-www-form-urlencoded"
_BATCH = "/batch"


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
        body, style = await request.read(), self._settings.style_at(request.path)
        if style is Style.FCM and request.path.endswith("/token"):
            return web.json_response(TOKEN)
        many = parts_of_batch(body) if style is Style.POSTMARK and request.path.endswith(_BATCH) else []
        # what came in a batch is recorded as if it had come alone
        path = request.path.removesuffix(_BATCH) if many else request.path
        verdicts = await self._verdicts(request, [self._read(request, path, part) for part in many or [body]])
        return _respond(request, verdicts, style, self._settings.conflict_status, in_batch=bool(many))

    def _read(self, request: web.BaseRequest, path: str, body: bytes) -> HandOff:
        to = recipient(request.content_type, body, self._settings.to_fields)
        names = self._settings.key_headers
        key = next((request.headers[name] for name in names if name in request.headers), None)
        return HandOff("http", path, to or "", key or None, hashlib.sha256(body).hexdigest())

    async def _verdicts(self, request: web.BaseRequest, hand_offs: Sequence[HandOff]) -> Sequence[Verdict]:
        if not self._authorized(request):
            return [self._far_end.refuse(one, Outcome.ACCOUNT, Cause.CREDENTIALS) for one in hand_offs]
        if not all(one.to for one in hand_offs):
            return [self._far_end.refuse(one, Outcome.REFUSED, Cause.MALFORMED) for one in hand_offs]
        if len(hand_offs) == 1:
            return [await self._far_end.carry_out(self._far_end.plan(hand_offs[0]), hand_offs[0])]
        plans = self._far_end.plan_all(hand_offs)
        carried = (self._far_end.carry_out(plan, one) for plan, one in zip(plans, hand_offs, strict=True))
        return await asyncio.gather(*carried)

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


def parts_of_batch(body: bytes) -> list[bytes]:
    """Return the messages of a JSON list, each as JSON; none if it is anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return []
    return [json.dumps(part).encode() for part in found] if isinstance(found, list) else []


def _respond(
    request: web.BaseRequest, verdicts: Sequence[Verdict], style: Style, conflict_status: int, *, in_batch: bool
) -> web.StreamResponse:
    """One lost answer is everybody's: they came in one request."""
    lost = next((verdict.reply for verdict in verdicts if verdict.reply is not Reply.ANSWERED), None)
    if lost is None:
        answer = (
            batch_answer(verdicts, style, conflict_status)
            if in_batch
            else http_answer(verdicts[0], style, conflict_status)
        )
        return web.Response(
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            content_type="application/json",
        )
    if request.transport is not None:
        if lost is Reply.GARBAGE:
            request.transport.write(GARBAGE)
            request.transport.close()
        else:
            reset(request.transport)
    # Nothing of this response is sent: its connection is closed.
    return web.Response()
