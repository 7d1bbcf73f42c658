"""The window into a running far end: its ledger, and orders that change it.

========================= =====================================================================
``GET /healthz``          200 once it serves
``GET /ledger``           the ledger's rows as NDJSON (Range requests work)
``GET /ledger/summary``   counts by outcome, duplicates, pace excess (``?pace=500/1`` for another)
``POST /control``         an order (see ``control``); answers the behaviour from now on
========================= =====================================================================
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aiohttp import web

from sendonce_cli.simulate.behaviour import Behaviour, Pace, SettingsError
from sendonce_cli.simulate.ledger import Ledger

Control = Callable[[object], Awaitable[Behaviour]]


class Admin:
    """Answers the requests in the table above."""

    def __init__(self, ledger: Path, behaviour: Callable[[], Behaviour], control: Control) -> None:
        self._ledger = ledger
        self._behaviour = behaviour
        self._control = control
        self._routes = {
            ("GET", "/healthz"): self._healthz,
            ("GET", "/ledger"): self._rows,
            ("GET", "/ledger/summary"): self._summary,
            ("POST", "/control"): self._order,
        }

    def knows(self, request: web.BaseRequest) -> bool:
        """Whether the request is for this window and not a hand-off."""
        return (request.method, request.path) in self._routes

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request; 404 for one that is not known, 400 with the reason for a bad one."""
        route = self._routes.get((request.method, request.path))
        if route is None:
            return web.json_response({"message": "no such page"}, status=404)
        try:
            return await route(request)
        except SettingsError as error:
            return web.json_response({"field": error.field, "message": str(error)}, status=400)

    async def _healthz(self, _: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"status": "ok"})

    async def _rows(self, _: web.BaseRequest) -> web.StreamResponse:
        return web.FileResponse(self._ledger, headers={"Content-Type": "application/x-ndjson"})

    async def _summary(self, request: web.BaseRequest) -> web.StreamResponse:
        text = request.query.get("pace")
        pace = self._behaviour().pace if text is None else Pace.parse(text)
        # In a thread: a long ledger must not hold up the hand-offs.
        ledger = await asyncio.to_thread(Ledger.read, self._ledger)
        return web.json_response(await asyncio.to_thread(ledger.summary, pace))

    async def _order(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            body = json.loads(await request.read())
        except ValueError as error:
            raise SettingsError("body", f"not JSON: {error}") from error
        return web.json_response(described(await self._control(body)))


def described(behaviour: Behaviour) -> Mapping[str, Any]:
    """Return the behaviour as JSON values, durations in seconds."""
    values = asdict(behaviour)
    pace = behaviour.pace
    values["pace"] = pace and f"{pace.messages}/{pace.seconds:g}/{pace.burst}"
    return values
