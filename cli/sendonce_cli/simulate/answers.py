"""How a verdict is worded: HTTP status, headers and body, or an SMTP reply.

In: a verdict of ``far_end``. Out: plain values that the fronts put on the wire. Pure, and used by
``far_end`` for the status that the ledger keeps.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from sendonce_cli.simulate import manners
from sendonce_cli.simulate.outcomes import Cause, Outcome, Reply
from sendonce_cli.simulate.settings import Style

LINE_ACCEPTED_HEADER = "x-line-accepted-request-id"
GARBAGE = b"\x00\xff\xfe no answer of any protocol \x00\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the far end decided about one hand-off; the ledger has it already."""

    outcome: Outcome
    cause: Cause = Cause.NORMAL
    reply: Reply = Reply.ANSWERED
    message_id: str | None = None
    retry_after: float | None = None
    """Seconds, for a throttled hand-off."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One HTTP answer, its body JSON."""

    status: int
    headers: dict[str, str]
    body: bytes


_HTTP = {
    Outcome.REFUSED: (422, "invalid_recipient", "this recipient does not exist"),
    Outcome.TRANSIENT: (503, "temporarily_unavailable", "try again later"),
    Outcome.THROTTLED: (429, "rate_limit_exceeded", "too many requests"),
    Outcome.ACCOUNT: (401, "invalid_credentials", "the account may not send"),
}
_SMTP = {
    Outcome.REFUSED: (550, "5.1.1 Recipient address rejected: user unknown"),
    Outcome.TRANSIENT: (450, "4.2.0 Mailbox busy, try again later"),
    Outcome.ACCOUNT: (530, "5.7.0 Authentication required: the account may not send"),
}


def http_answer(verdict: Verdict, style: Style, conflict_status: int) -> HttpAnswer:
    """Return the answer to a hand-off whose reply is not lost."""
    if verdict.outcome in (Outcome.ACCEPTED, Outcome.REPEAT):
        return _http_taken(verdict, style)
    if verdict.outcome is Outcome.CONFLICT:
        return _http_conflict(verdict, style, conflict_status)
    if verdict.cause is Cause.MALFORMED:
        return _problem(400, "malformed", "a JSON object or form with a recipient is needed")
    wait = verdict.retry_after
    # Retry-After is in whole seconds (RFC 9110, section 10.2.3); rounding down would lie.
    headers = {} if wait is None else {"Retry-After": str(max(1, math.ceil(wait)))}
    if style in manners.REFUSED:
        return _json(*manners.refused(style, verdict.outcome), headers)
    return _problem(*_HTTP[verdict.outcome], headers)


def batch_answer(verdicts: Sequence[Verdict], style: Style, conflict_status: int) -> HttpAnswer:
    """Return the answer to several hand-offs that came in one request, none of whose replies is lost."""
    first = verdicts[0]
    if first.outcome not in (Outcome.ACCEPTED, Outcome.REFUSED) or first.cause is Cause.MALFORMED:
        return http_answer(first, style, conflict_status)
    items = [json.loads(http_answer(verdict, style, conflict_status).body) for verdict in verdicts]
    return _json(200, items)


def smtp_answer(verdict: Verdict) -> tuple[int, str]:
    """Return code and text of the reply to a hand-off whose reply is not lost."""
    if verdict.outcome in (Outcome.ACCEPTED, Outcome.REPEAT):
        return 250, f"2.0.0 Ok: queued as {verdict.message_id}"
    if verdict.outcome is Outcome.CONFLICT:
        in_use = verdict.cause is Cause.KEY_IN_USE
        return (450, "4.5.0 Message-ID in use") if in_use else (554, "5.6.0 Message-ID known")
    if verdict.outcome is Outcome.THROTTLED:
        seconds = max(1, math.ceil(verdict.retry_after or 0))
        return 451, f"4.7.1 Rate limit exceeded, try again in {seconds} seconds"
    if verdict.cause is Cause.OUTAGE:
        return 421, "4.3.2 Service not available, closing the connection"
    return _SMTP[verdict.outcome]


def status_of(protocol: str, verdict: Verdict, style: Style, conflict_status: int) -> int | None:
    """Return the number that the ledger keeps: None if the sender gets no readable answer."""
    if verdict.reply is not Reply.ANSWERED:
        return None
    if protocol == "smtp":
        return smtp_answer(verdict)[0]
    return http_answer(verdict, style, conflict_status).status


def _http_taken(verdict: Verdict, style: Style) -> HttpAnswer:
    if style in manners.REFUSED:
        return _json(*manners.taken(style, str(verdict.message_id)))
    if style is Style.PLAIN:
        return _json(200, {"id": verdict.message_id})
    if verdict.outcome is Outcome.ACCEPTED:
        return _json(200, {"sentMessages": [{"id": verdict.message_id}]})
    body = {"message": "The retry key is already accepted"}
    return _json(409, body, {LINE_ACCEPTED_HEADER: str(verdict.message_id)})


def _http_conflict(verdict: Verdict, style: Style, conflict_status: int) -> HttpAnswer:
    if verdict.cause is Cause.OTHER_PAYLOAD:
        message = "the idempotency key came before with another payload"
        return _problem(conflict_status, "invalid_idempotent_request", message)
    message = "a request with this idempotency key is still running"
    if style is Style.LINE:
        # LINE's 409 claims an acceptance that has not happened yet: there it counts as too many.
        return _problem(429, "concurrent_idempotent_requests", message, {"Retry-After": "1"})
    return _problem(409, "concurrent_idempotent_requests", message)


def _problem(status: int, code: str | int, message: str, headers: dict[str, str] | None = None) -> HttpAnswer:
    return _json(status, {"code": code, "message": message}, headers)


def _json(status: int, body: object, headers: dict[str, str] | None = None) -> HttpAnswer:
    return HttpAnswer(status, headers or {}, json.dumps(body).encode())
