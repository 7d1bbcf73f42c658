"""Records as JSON: frozen dataclasses in, objects with camelCase names out; and what a program sends, read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, cast

import orjson
from aiohttp import web

from sendonce_console.web.problems import bad_request
from sendonce_store.spec.base import wire_name


def reply(record: object, status: int = 200) -> web.Response:
    """Answer a program."""
    return web.Response(body=orjson.dumps(plain(record)), status=status, content_type="application/json")


def plain(value: object) -> object:
    """Plain data: times in ISO 8601, bytes in hex."""
    if is_dataclass(value) and not isinstance(value, type):
        return {wire_name(one.name): plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return _scalar(value)


def _scalar(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


async def sent_object(request: web.Request) -> Mapping[str, Any]:
    """The JSON object that a program sent. Raises ProblemError."""
    try:
        found = orjson.loads(await request.read())
    except orjson.JSONDecodeError as error:
        raise bad_request("body", f"is not JSON ({error})", "Send a JSON object.") from None
    if not isinstance(found, dict):
        raise bad_request("body", "is not a JSON object", "Send one, as /api/v1/openapi.json describes it.")
    return cast("Mapping[str, Any]", found)
