"""What the answers of a far end mean: a table of rows, first match wins, then what HTTP says.

In: an :class:`Answer` as its module has read it. Out: ``Accepted``, or the error to raise. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sendonce_worker.providers.base import Accepted
from sendonce_worker.providers.errors import Kind, SendError, one_line, send_error
from sendonce_worker.providers.http1.connection import Answer
from sendonce_worker.providers.http1.statuses import ACCEPTED, STATUS_RULES, Verdict
from sendonce_worker.providers.http1.waits import LONGEST_WAIT, retry_after

HOUR = 3600.0
P, T, W, S, U = Kind.PERMANENT, Kind.TEMPORARY, Kind.RATE_LIMITED, Kind.ACCOUNT, Kind.UNKNOWN
"""Short names for tables: dead letter, temporary, wait, stop, unknown."""
_LONGEST_CODE = 64


# not frozen: one for each delivery, and a frozen one takes twice as long to make
@dataclass(slots=True)
class Reading:
    """What an answer says in the far end's own terms: its code and words, or its acceptance and the message's id."""

    code: str = ""
    words: str = ""
    accepted: bool = False
    message_id: str | None = None
    wait: float | None = None
    """Seconds that it asks to wait, where it does not do so by ``Retry-After``."""


@dataclass(frozen=True, slots=True)
class Row:
    """Answers and what they mean. A part that is left out matches anything.

    ``code`` is a regular expression for the whole of the far end's code, ``words`` one that is found in its words, in
    any case of letters. ``wait``: seconds to wait where the far end does not say how long.
    """

    verdict: Verdict
    why: str
    status: tuple[int | range, ...] = ()
    code: str = ""
    words: str = ""
    wait: float | None = None

    def matches(self, status: int, reading: Reading) -> bool:
        """Say whether the row speaks of this answer."""
        if self.status and not any(status in one if isinstance(one, range) else status == one for one in self.status):
            return False
        if self.code and not re.fullmatch(self.code, reading.code):
            return False
        return not self.words or re.search(self.words, reading.words, re.IGNORECASE) is not None


NOT_ITS_OWN = "a success that is not in the far end's own form: something else may have answered"
DEFAULTS: tuple[Row, ...] = tuple(
    Row(U, NOT_ITS_OWN, rule.statuses) if rule.verdict == ACCEPTED else Row(rule.verdict, rule.why, rule.statuses)
    for rule in STATUS_RULES
)
"""What holds where no row of a far end's own matches."""


def classify(table: Iterable[Row], answer: Answer, reading: Reading) -> Accepted | SendError:
    """Return the acceptance, or the error that the answer stands for."""
    status = answer.status
    if status in range(200, 300) and not answer.complete:
        return send_error(U, "answer_cut", f"{status}: the answer was cut off or too long")
    if reading.accepted:
        return Accepted(_short_id(reading.message_id), str(status))
    row = next(row for row in (*table, *DEFAULTS) if row.matches(status, reading))
    words = one_line(f"{status} {reading.words or _body_of(answer)}".strip())
    if row.verdict == ACCEPTED:
        return Accepted(_short_id(reading.message_id), words)
    code = one_line(reading.code)[:_LONGEST_CODE] or str(status)
    return send_error(Kind(row.verdict), code, words, _wait(row, answer, reading))


def _wait(row: Row, answer: Answer, reading: Reading) -> float | None:
    asked = reading.wait if reading.wait is not None else retry_after(answer)
    return row.wait if asked is None else min(max(asked, 0.0), LONGEST_WAIT)


def _short_id(message_id: str | None) -> str | None:
    return message_id and (one_line(message_id) or None)


def _body_of(answer: Answer) -> str:
    return answer.body[:4096].decode("utf-8", "replace")
