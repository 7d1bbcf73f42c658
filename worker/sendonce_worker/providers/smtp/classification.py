"""What an SMTP refusal means: a table, and the function that reads it.

In: where in the session a reply came, its code, its enhanced code (RFC 3463) and its words. Out: a
:class:`Verdict`. The first matching row of :data:`RULES` wins. Rows that go by words come first, because
throttling and account trouble are often dressed up as permanent errors of one recipient. docs/providers.md is generated
from the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from sendonce_worker.providers.errors import Kind

LONGEST_WAIT = 86400.0
"""Seconds; a longer wait read from a reply's words is cut to it."""


_READ = 600
"""Characters of a reply that are looked at: it is a stranger's text, of any length."""


class Stage(StrEnum):
    """The command that a reply answers; ``Message`` is the final dot."""

    GREETING = "Greeting"
    HELLO = "EHLO"
    STARTTLS = "STARTTLS"
    AUTH = "AUTH"
    MAIL = "MAIL"
    RCPT = "RCPT"
    DATA = "DATA"
    MESSAGE = "Message"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How to treat a refusal; ``retry_after`` in seconds where the words state a wait."""

    kind: Kind
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: every part that is given must match. ``codes`` are prefixes of the three digits.

    ``besides``: enhanced codes of which the row does not speak, whatever the words are.
    """

    kind: Kind
    why: str
    stages: frozenset[Stage] = frozenset(Stage)
    codes: tuple[str, ...] = ("4", "5")
    enhanced: tuple[str, ...] = ()
    words: re.Pattern[str] | None = None
    besides: tuple[str, ...] = ()

    def matches(self, stage: Stage, code: str, enhanced: str, text: str) -> bool:
        """Say whether the row speaks of this reply."""
        return (
            stage in self.stages
            and code.startswith(self.codes)
            and (not self.enhanced or _is_under(enhanced, self.enhanced))
            and not _is_under(enhanced, self.besides)
            and (self.words is None or self.words.search(text) is not None)
        )


def _words(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE)


_OPENING = frozenset({Stage.GREETING, Stage.HELLO, Stage.STARTTLS, Stage.AUTH})
_RCPT = frozenset({Stage.RCPT})
_MAIL = frozenset({Stage.MAIL})
_NOT_RCPT = frozenset({Stage.MAIL, Stage.DATA, Stage.MESSAGE})

_GREYLISTING = _words(r"gr[ae]y[- ]?list", r"postgrey")
_MAILBOX_BUSY = _words(r"receiving mail (at a rate that prevents|too (quickly|fast))")
_MAILBOX_FULL = _words(
    r"(mailbox|inbox|account|user|recipient)('s)?( storage)?( is)? (full|over ?quota|over its quota|out of storage)",
    r"quota exceeded \(mailbox for user",
)
_RECIPIENT = ("5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1")
"""Enhanced codes that speak of one recipient: no such mailbox or domain, moved, takes no mail, disabled."""
_ACCOUNT = _words(r"maximum credits exceeded", r"(sending|account).{0,20}suspended")
_REPUTATION = _words(r"unusual rate of unsolicited mail")
_THROTTLED = _words(
    r"temporarily rate limited",
    r"try again (slower|later,? too many)",
    r"at a rate that prevents",
    r"rate limit(ed)?\b",
    r"throttl(ed|ing)",
    r"too many (connections|smtp sessions|sessions|recipients|messages|emails|mails|concurrent)",
    r"connection (frequency|rate) (is )?limit",
    r"maximum sending rate",
    r"(daily|hourly|monthly|sending|message|submission|outgoing)[\w ]{0,40} quota[\w ]{0,40} exceeded",
    r"(daily|hourly|monthly|peak)[\w ]{0,40} limit[\w ]{0,40} exceeded",
    r"exceeded[\w -]{0,40} (sending|message(?! size)|daily|hourly)[\w ]{0,40} (quota|limit)",
    r"(thread|connections?) limit exceeded",
    r"maximum number of concurrent",
    r"SubmissionQuotaExceeded",
    r"limit[\w ]{0,40} (of|on|for)[\w ]{0,40} outgoing messages[\w ]{0,40} exceeded",
    r"mail rate exceeded",
    r"exceeded the max(imum)? (emails|defers)[\w /]{0,40} per (hour|day|minute)",
)
_RELAYING = _words(r"relay(?![ _]recipient)", r"authenticat", r"not (permitted|allowed) to send")

RULES: tuple[Rule, ...] = (
    Rule(Kind.TEMPORARY, "greylisting: nobody's fault, a later attempt passes", words=_GREYLISTING),
    Rule(Kind.TEMPORARY, "this mailbox gets too much mail at the moment", words=_MAILBOX_BUSY),
    Rule(Kind.TEMPORARY, "this mailbox is full, and may be emptied", codes=("4",), words=_MAILBOX_FULL),
    Rule(Kind.PERMANENT, "this mailbox is full", codes=("5",), words=_MAILBOX_FULL),
    Rule(Kind.ACCOUNT, "credit used up, or the account is blocked", words=_ACCOUNT, besides=_RECIPIENT),
    Rule(Kind.ACCOUNT, "reputation: blocked until somebody looks into it", codes=("5",), words=_REPUTATION),
    Rule(Kind.RATE_LIMITED, "throttling, also where it is dressed up as 5yz", words=_THROTTLED),
    Rule(
        Kind.RATE_LIMITED,
        "mail flood, congestion, message rate or recipients exceeded",
        enhanced=("5.7.28", "4.5.3", "5.5.3", "5.4.5"),
    ),
    Rule(Kind.RATE_LIMITED, "the server is busy or closing: no recipient is at fault", _OPENING, ("4",)),
    Rule(Kind.ACCOUNT, "refused before any message: server, TLS or login", _OPENING, ("5",)),
    Rule(Kind.ACCOUNT, "a login is needed, or is not good enough (RFC 4954)", codes=("530", "534", "535", "538")),
    Rule(Kind.TEMPORARY, "this mailbox is full, and may be emptied", codes=("4",), enhanced=("4.2.2",)),
    Rule(Kind.TEMPORARY, "a policy delay at RCPT is greylisting", _RCPT, ("450", "451"), ("4.7.1",)),
    Rule(Kind.RATE_LIMITED, "the server's policy holds us back", codes=("421", "451", "452", "454"), enhanced=("4.7",)),
    Rule(Kind.RATE_LIMITED, "the server is short of room or slots", codes=("452", "454")),
    Rule(Kind.TEMPORARY, "too big or too many at once for now", codes=("552",), words=_words(r"too many recipients")),
    Rule(Kind.TEMPORARY, "not accepted, may pass", codes=("4",)),
    Rule(Kind.TEMPORARY, "the dialogue got out of step: again on a new connection", codes=("500", "502", "503")),
    Rule(
        Kind.PERMANENT, "the message is too big or of the wrong kind", codes=("5",), enhanced=("5.3.4", "5.2.3", "5.6")
    ),
    Rule(Kind.PERMANENT, "the message is too big", _NOT_RCPT, ("552",)),
    Rule(
        Kind.PERMANENT,
        "the recipient's own policy, or the mailbox changed hands",
        codes=("5",),
        enhanced=("5.7.2", "5.7.17", "5.7.18", "5.7.124", "5.7.133", "5.7.134"),
    ),
    Rule(Kind.ACCOUNT, "policy: relaying, authentication, reputation", codes=("5",), enhanced=("5.7",)),
    Rule(Kind.ACCOUNT, "the sender's address is refused", codes=("5",), enhanced=("5.1.7", "5.1.8")),
    Rule(Kind.ACCOUNT, "the sender is refused", _MAIL, ("5",)),
    Rule(
        Kind.ACCOUNT,
        "the server does not relay for us",
        _RCPT,
        ("550", "551", "553", "554"),
        words=_RELAYING,
        besides=_RECIPIENT,
    ),
    Rule(Kind.PERMANENT, "this recipient or content is refused", codes=("5",)),
)
"""First match wins. Sources: RFC 5321 §4.2, RFC 3463, RFC 4954, the IANA registry of enhanced status codes, and what
large servers are known to answer."""

_ENHANCED = re.compile(r"([245]\.\d{1,3}\.\d{1,3})(?:\s|$)")
_WAIT = re.compile(
    r"(?:again|retry|wait|after|delayed?)\D{0,24}?(\d{1,6})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b",
    re.IGNORECASE,
)
_UNITS = {"s": 1, "m": 60, "h": 3600}


def classify(stage: Stage, code: int, enhanced: str | None, text: str) -> Verdict:
    """Say what a reply that is no success means.

    ``code`` is the three-digit reply, ``enhanced`` its ``5.1.1`` or None, ``text`` its words. A reply that is
    neither 4yz nor 5yz came out of turn: nothing was accepted, except perhaps by the final dot.
    """
    digits, text = str(code), text[:_READ]
    for rule in RULES:
        if rule.matches(stage, digits, enhanced or "", text):
            return Verdict(rule.kind, stated_wait(text) if rule.kind in _WAITING else None)
    return Verdict(Kind.UNKNOWN if stage is Stage.MESSAGE else Kind.TEMPORARY)


_WAITING = {Kind.TEMPORARY, Kind.RATE_LIMITED}


def enhanced_code(text: str) -> str | None:
    """Return the enhanced code that a reply's text begins with (RFC 2034)."""
    found = _ENHANCED.match(text)
    return found[1] if found else None


def stated_wait(text: str) -> float | None:
    """Return the seconds that words such as "Try again in 92 seconds" state, at most a day."""
    found = _WAIT.search(text[:_READ])
    return min(float(found[1]) * _UNITS[found[2][0].lower()], LONGEST_WAIT) if found else None


def _is_under(enhanced: str, prefixes: tuple[str, ...]) -> bool:
    return any(enhanced == prefix or enhanced.startswith(prefix + ".") for prefix in prefixes)
