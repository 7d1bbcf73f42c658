"""`sendonce.enqueue` for Python: one recipient for a standing campaign, in the caller's transaction.

The function in the schema does the work and says what is wrong; here its SQLSTATEs become one exception each. A
statement that raises has spoiled the transaction it is in: let it roll back, or put the call into a savepoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import AsyncConnection

__all__ = [
    "CampaignCancelledError",
    "CampaignClosedError",
    "EnqueueError",
    "InvalidKeyError",
    "InvalidRecipientError",
    "KeyReusedError",
    "NotAStreamError",
    "NotAllowedError",
    "UnknownCampaignError",
    "enqueue",
]


class EnqueueError(Exception):
    """Nothing was enqueued. `message` says what is wrong, `hint` what would do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}. {hint}" if hint else message)
        self.message = message
        self.hint = hint


class UnknownCampaignError(EnqueueError):
    """SO101: the namespace has no campaign of that send key."""


class NotAStreamError(EnqueueError):
    """SO102: the campaign has its recipients from elsewhere."""


class CampaignClosedError(EnqueueError):
    """SO103: closed by a person, past its deadline, or ended."""


class CampaignCancelledError(EnqueueError):
    """SO104: cancelled by a person."""


class KeyReusedError(EnqueueError):
    """SO105: the idempotency key was used for another recipient."""


class InvalidRecipientError(EnqueueError):
    """SO106: no object, too large, or without an address for any channel of the campaign."""


class InvalidKeyError(EnqueueError):
    """SO107: the idempotency key is empty or longer than 255 bytes."""


class NotAllowedError(EnqueueError):
    """42501: the session's role is not one of the namespace's applications."""


_ERRORS: Mapping[str, type[EnqueueError]] = {
    "SO101": UnknownCampaignError,
    "SO102": NotAStreamError,
    "SO103": CampaignClosedError,
    "SO104": CampaignCancelledError,
    "SO105": KeyReusedError,
    "SO106": InvalidRecipientError,
    "SO107": InvalidKeyError,
    "42501": NotAllowedError,
    # a NUL, or half of a surrogate pair: PostgreSQL keeps neither
    "22P02": InvalidRecipientError,
    "22P05": InvalidRecipientError,
}


async def enqueue(
    conn: AsyncConnection[Any],
    namespace: str,
    send_key: str,
    idempotency_key: str,
    recipient: Mapping[str, object],
) -> int:
    """Add a recipient, with the fields of a line of NDJSON; returns its number, the same one for a repeat.

    Raises EnqueueError; psycopg.Error where the store can't be reached or the transaction failed otherwise. Only the
    caller's COMMIT makes it hold.
    """
    asked = (namespace, send_key, idempotency_key, _as_json(recipient))
    try:
        cursor = await conn.execute("SELECT sendonce.enqueue(%s, %s, %s, %s::jsonb)", asked)
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise translated(error) from error
    return _number(row)


def _as_json(recipient: Mapping[str, object]) -> str:
    try:
        return json.dumps(recipient, allow_nan=False)
    except (TypeError, ValueError) as error:
        hint = "Pass strings, numbers, booleans, null, lists and objects of them."
        raise InvalidRecipientError(f"the recipient is no JSON: {error}", hint) from error


def _number(row: Any) -> int:  # noqa: ANN401 - a tuple, a mapping, or what else the connection's row factory makes
    return int(next(iter(row.values()))) if isinstance(row, Mapping) else int(row[0])


def translated(error: psycopg.Error) -> Exception:
    """The exception that an error of the server stands for; itself where it is none of ours."""
    kind = _ERRORS.get(error.sqlstate or "")
    if kind is None:
        return error
    return kind(error.diag.message_primary or str(error), error.diag.message_hint or "")
