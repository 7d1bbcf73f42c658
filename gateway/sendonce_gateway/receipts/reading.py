"""Reading what providers send: bytes in, plain values out. What is not there is empty; what is no JSON is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl

import orjson

from sendonce_gateway.receipts.source import MalformedError

__all__ = ["email", "form", "items", "json_object", "member", "moment", "phone", "seconds", "text"]

MOST_FIELDS = 200
_MILLISECONDS = 1e11  # a later number of seconds is in the year 5138


def json_object(data: bytes | str) -> Mapping[str, object]:
    """Read an object. Raises MalformedError."""
    found = _json(data)
    if not isinstance(found, dict):
        raise MalformedError("the body is JSON, but no object")
    return found


def items(data: bytes) -> Iterator[Mapping[str, object]]:
    """Read a list of objects. Raises MalformedError."""
    found = _json(data)
    if not isinstance(found, list):
        raise MalformedError("the body is JSON, but no list")
    for one in found:
        if not isinstance(one, dict):
            raise MalformedError("the body is a list of something else than objects")
        yield one


def _json(data: bytes | str) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise MalformedError(f"the body is not JSON: {error.msg}") from None


def form(data: bytes) -> dict[str, str]:
    """Read a form, the last of each name. Raises MalformedError."""
    try:
        pairs = parse_qsl(data.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise MalformedError(f"the body is no form of at most {MOST_FIELDS} fields in UTF-8") from None
    return dict(pairs)


def member(found: object, *path: str | int) -> object:
    """What stands there; None for nothing."""
    for step in path:
        if isinstance(step, str) and isinstance(found, Mapping):
            found = found.get(step)
        elif isinstance(step, int) and isinstance(found, list) and step < len(found):
            found = found[step]
        else:
            return None
    return found


def text(found: object, *path: str | int) -> str:
    """The text or the number there; '' for anything else."""
    value = member(found, *path)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def moment(value: object) -> datetime | None:
    """A time as ISO 8601 text, or as seconds or milliseconds since 1970; None for anything else."""
    if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return seconds(value)


def seconds(value: object) -> datetime | None:
    """A time in seconds or milliseconds since 1970, as a number or its text; None for anything else."""
    try:
        number = float(value) if isinstance(value, str | int | float) else float("nan")
        return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def email(value: str) -> str | None:
    """An address as deliveries have it: all in lower case; None for nothing."""
    return value.strip().rpartition("<")[2].rstrip(">").lower() or None


def phone(value: str) -> str | None:
    """A number as deliveries have it, E.164; None for what is none, such as the name of a sender."""
    digits = value.strip().removeprefix("+")
    return f"+{digits}" if digits.isascii() and digits.isdigit() else None
