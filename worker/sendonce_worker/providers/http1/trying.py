"""One attempt over HTTP, and the boundary behind which nothing foreign gets out.

In: what makes the request and judges its answer. Out: its judgement, or exactly the errors of ``providers.errors``:
whatever failed before the first byte left is known not to have been accepted, what failed later is unknown.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sendonce_worker.providers.base import Clearance
from sendonce_worker.providers.dial import DialError
from sendonce_worker.providers.errors import (
    HandOffRefusedError,
    SendError,
    TemporarySendError,
    UnknownOutcomeError,
    send_error,
)
from sendonce_worker.providers.http1.connection import AnswerLostError

_LOG = logging.getLogger(__name__)

JudgementT = TypeVar("JudgementT")
Attempt = Callable[[Clearance], Awaitable[JudgementT | SendError]]
"""Sends one request, asking the clearance right before its first byte, and judges the answer."""


async def try_once(attempt: Attempt[JudgementT], clearance: Clearance, blot: Callable[[str], str]) -> JudgementT:
    """Try once; ``blot`` takes secrets out of words. Raises ``SendError``, and what the clearance raises."""
    left = False

    def note_departure() -> None:
        nonlocal left
        clearance()
        left = True

    try:
        verdict = await attempt(note_departure)
    except (SendError, HandOffRefusedError):
        raise
    except DialError as error:
        raise TemporarySendError(error.code, blot(error.message)) from error
    except AnswerLostError as error:
        raise UnknownOutcomeError(error.code, blot(error.message)) from error
    except Exception as error:
        _LOG.exception("a bug in an HTTP provider, or in the caller's clearance")
        outcome = UnknownOutcomeError if left else TemporarySendError
        raise outcome("internal_error", f"{type(error).__name__} inside the provider") from error
    if isinstance(verdict, SendError):
        raise blotted(verdict, blot)
    return verdict


def blotted(error: SendError, blot: Callable[[str], str]) -> SendError:
    """Return the error without secrets in its words."""
    return send_error(error.kind, error.code, blot(error.message), error.retry_after)
