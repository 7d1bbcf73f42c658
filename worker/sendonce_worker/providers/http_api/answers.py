"""What an HTTP answer means for the message.

In: the provider's ``errorRules`` and ``messageIdPath``, once; then answers. Out: ``Accepted``, or the error
to raise. The first matching rule of the provider wins, then the table of ``http1.statuses``. A provider that documents
better than HTTP does whether a message was accepted says so in its ``errorRules``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from sendonce_worker.providers.base import Accepted
from sendonce_worker.providers.errors import Kind, SendError, send_error
from sendonce_worker.providers.http1.connection import Answer
from sendonce_worker.providers.http1.statuses import ACCEPTED, Verdict, default_verdict
from sendonce_worker.providers.http1.waits import retry_after
from sendonce_worker.providers.http_api.reading import MessageIdPath, Words, words_of

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


def _words(answer: Answer, why: str) -> Words:
    return Words(str(answer.status), f"{answer.status}: {why}")
