"""What an HTTP answer means for the message.

In: the provider's ``errorRules`` and ``messageIdPath``, once; then answers. Out: ``Accepted``, or the error
to raise. The first matching rule of the provider wins, then :data:`STATUS_RULES`. Where HTTP leaves
open whether the message was accepted, the verdict is Unknown: that holds a message back, or repeats it with its
key, but never sends it twice. A provider that documents better says so in its ``errorRules``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

from sendonce_worker.providers.base import Accepted
from sendonce_worker.providers.errors import Kind, SendError, send_error
from sendonce_worker.providers.http1.connection import Answer
from sendonce_worker.providers.http_api.reading import MessageIdPath, Words, retry_after, words_of

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

RULE_VERDICTS: dict[str, Verdict] = {
    "Permanent": Kind.PERMANENT,
    "Transient": Kind.TEMPORARY,
    "RateLimited": Kind.RATE_LIMITED,
    "Account": Kind.ACCOUNT,
    "Unknown": Kind.UNKNOWN,
    "AlreadyAccepted": ACCEPTED,
}
"""What the ``as`` of an error rule stands for."""


class ErrorRuleSpec(Protocol):
    """One entry of ``errorRules``."""

    @property
    def status(self) -> int | None:
        """The HTTP status, or None for any."""
        ...

    @property
    def code(self) -> str | None:
        """A word to find in the body, or ``name=value`` for a JSON member; None for any."""
        ...


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """A compiled entry of ``errorRules``: both given parts must match."""

    status: int | None
    code: str | None
    pattern: re.Pattern[bytes] | None
    verdict: Verdict

    def matches(self, answer: Answer) -> bool:
        """Say whether status and body are those of the rule."""
        if self.status is not None and self.status != answer.status:
            return False
        return self.pattern is None or self.pattern.search(answer.body) is not None


def compile_rule(status: int | None, code: str | None, verdict: str) -> ErrorRule:
    """Compile one rule. ``code`` is found as a whole word, ``name=value`` as a member of the JSON answer."""
    return ErrorRule(status, code, _code_pattern(code) if code else None, RULE_VERDICTS[verdict])


def _code_pattern(code: str) -> re.Pattern[bytes]:
    name, equals, value = code.partition("=")
    if equals:
        member = rf'"{re.escape(name.strip())}"\s*:\s*"?{re.escape(value.strip())}"?\s*[,}}\]]'
        return re.compile(member.encode())
    return re.compile(rf"(?<![\w.-]){re.escape(code)}(?![\w-])".encode())


class Answers:
    """Judges the answers of one provider."""

    def __init__(self, rules: Iterable[ErrorRule], message_id_path: str | None) -> None:
        """Raises ``ValueError`` for a path that cannot be read."""
        self._rules = tuple(rules)
        self._path = MessageIdPath(message_id_path) if message_id_path else None

    def judge(self, answer: Answer) -> Accepted | SendError:
        """Return the acceptance, or the error that the answer stands for."""
        for rule in self._rules:
            if rule.matches(answer):
                return self._verdict(rule.verdict, answer, rule.code)
        return self._verdict(default_verdict(answer.status), answer, None)

    def _verdict(self, verdict: Verdict, answer: Answer, code: str | None) -> Accepted | SendError:
        if verdict == ACCEPTED:
            return self._accepted(answer)
        words = words_of(answer)
        return send_error(Kind(verdict), code or words.code, words.message, retry_after(answer))

    def _accepted(self, answer: Answer) -> Accepted | SendError:
        success = answer.status in range(200, 300)
        if success and not answer.complete:
            return send_error(Kind.UNKNOWN, "answer_cut", _words(answer, "the answer was cut off or too long").message)
        message_id = self._path.find(answer) if self._path else None
        if success and self._path and message_id is None:
            return send_error(
                Kind.UNKNOWN, "no_message_id", f"no {self._path} in the answer: {words_of(answer).message}"
            )
        return Accepted(message_id, str(answer.status))


@lru_cache(maxsize=1000)
def default_verdict(status: int) -> Verdict:
    """Return the verdict of :data:`STATUS_RULES`."""
    return next(rule.verdict for rule in STATUS_RULES if rule.matches(status))


def _words(answer: Answer, why: str) -> Words:
    return Words(str(answer.status), f"{answer.status}: {why}")
