"""How long a far end asks to wait.

In: an :class:`Answer`. Out: seconds. It is a stranger's input: nothing here raises.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from sendonce_worker.providers.http1.connection import Answer

LONGEST_WAIT = 7 * 86400.0
"""Seconds; a longer wait is cut to it."""


def retry_after(answer: Answer, now: datetime | None = None) -> float | None:
    """Return the seconds of ``Retry-After`` (RFC 9110 §10.2.3: seconds or a date), at most seven days."""
    value = (answer.header(b"retry-after") or "").strip()
    if re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,6})?", value):
        return min(float(value), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0), LONGEST_WAIT)
