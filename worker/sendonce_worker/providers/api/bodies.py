"""Request bodies of the named providers, and the bounds that are checked before anything is handed off."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote_plus

import orjson

from sendonce_worker.providers.errors import PermanentSendError

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MIB = 1024 * 1024


def json_body(value: object) -> bytes:
    """Encode as JSON. Raises ``PermanentSendError`` for half of a character."""
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise _half_character(error) from error


def form_body(fields: Mapping[str, str]) -> bytes:
    """Encode as a form. Raises ``PermanentSendError`` for half of a character."""
    try:
        return "&".join([f"{quote_plus(name)}={quote_plus(value)}" for name, value in fields.items()]).encode("ascii")
    except UnicodeEncodeError as error:
        raise _half_character(error) from error


def at_most(count: int, limit: int, what: str, far_end: str) -> None:
    """Refuse what the far end would not take. Raises ``PermanentSendError``; ``what`` has the unit."""
    if count > limit:
        raise PermanentSendError("message_too_large", f"{count:,} {what}; {far_end} takes at most {limit:,}")


def needed_text(text: str | None, limit: int, far_end: str) -> str:
    """Return the message's text. Raises ``PermanentSendError`` if it is empty or has more than ``limit`` characters."""
    if not text or not text.strip():
        raise PermanentSendError("empty_message", f"the message has no text, and {far_end} takes none without")
    at_most(len(text), limit, "characters of text", far_end)
    return text


def _half_character(error: Exception) -> PermanentSendError:
    return PermanentSendError("not_encodable", f"the message holds what has no UTF-8 form: {error}")
