"""Records as JSON: frozen dataclasses in, objects with camelCase names out; and what a program sends, read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson
from aiohttp import web

from sendonce_console.web.problems import bad_request
from sendonce_store.plain_data import as_data


def reply(record: object, status: int = 200) -> web.Response:
    """Answer a program."""
    return web.Response(body=orjson.dumps(as_data(record)), status=status, content_type="application/json")


async def sent_object(request: web.Request) -> Mapping[str, Any]:
    """The JSON object that a program sent. Raises ProblemError."""
    try:
        found = orjson.loads(await request.read())
    except orjson.JSONDecodeError as error:
        raise bad_request("body", f"is not JSON ({error})", "Send a JSON object.") from None
    if not isinstance(found, dict):
        raise bad_request("body", "is not a JSON object", "Send one, as /api/v1/openapi.json describes it.")
    return cast("Mapping[str, Any]", found)
