"""What an HTTP status means by itself: where neither the far end's own codes nor a provider's rules say more.

In: a status. Out: a :data:`Verdict`. Where HTTP leaves open whether the message was accepted, it is Unknown: that
holds a message back, or repeats it with its key, but never sends it twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from sendonce_worker.providers.errors import Kind

Verdict = Kind | Literal["Accepted"]
ACCEPTED: Literal["Accepted"] = "Accepted"


@dataclass(frozen=True, slots=True)
class StatusRule:
    """Statuses (single, or ``range``) and what they mean where no rule of the provider says otherwise."""

    statuses: tuple[int | range, ...]
    verdict: Verdict
    why: str

    def matches(self, status: int) -> bool:
        """Say whether the rule speaks of this status."""
        return any(status in one if isinstance(one, range) else status == one for one in self.statuses)


STATUS_RULES: tuple[StatusRule, ...] = (
    StatusRule((range(200, 300),), ACCEPTED, "the far end took the message"),
    StatusRule((range(300, 400),), Kind.ACCOUNT, "redirects are not followed: the URL is wrong"),
    StatusRule((429,), Kind.RATE_LIMITED, "throttled before acceptance; `Retry-After` is honoured"),
    StatusRule((401, 402, 403, 407, 451), Kind.ACCOUNT, "credentials, credit or permission: all would fail"),
    StatusRule((405, 406, 411, 414, 415, 417, 426, 431), Kind.ACCOUNT, "the request is built wrongly: all would fail"),
    StatusRule((421, 425), Kind.TEMPORARY, "refused unprocessed (RFC 9110 §15.5.20, RFC 8470 §5.2)"),
    StatusRule(
        (408, 409, 423, 424, 499),
        Kind.UNKNOWN,
        "may speak of an earlier attempt (key in use, other payload) or of half a request",
    ),
    StatusRule((range(400, 500),), Kind.PERMANENT, "this recipient or content is refused"),
    StatusRule((501, 505), Kind.ACCOUNT, "the far end does not know such requests: all would fail"),
    StatusRule((range(500, 600),), Kind.UNKNOWN, "it may have failed after accepting (500, 502, 503, 504)"),
    StatusRule((range(1000),), Kind.UNKNOWN, "not a status of HTTP"),
)
"""The defaults, first match wins; docs/providers.md is generated from them."""


@lru_cache(maxsize=1000)
def default_verdict(status: int) -> Verdict:
    """Return the verdict of :data:`STATUS_RULES`."""
    return next(rule.verdict for rule in STATUS_RULES if rule.matches(status))
