"""What a hand-off can end in, other than acceptance.

::

    SendError                     kind
      PermanentSendError          Permanent    never accepted, never will be: dead letter
      TemporarySendError          Temporary    definitely not accepted: try again
        RateLimitedError          RateLimited  throttled: burns no attempt, pauses the provider
        AccountError              Account      credentials, sender, credit: stops the campaign
        UnknownOutcomeError       Unknown      may have been accepted: a repeat needs a key
    HandOffRefusedError           raised by the caller's clearance; nothing was sent
    ProviderConfigError           a setting or secret is wrong; found while building the provider

Decide by :attr:`SendError.kind`, which names exactly one of the five; with ``except`` clauses the
three children come before ``TemporarySendError``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from sendonce_store.masking import mask
from sendonce_store.pace import OUTAGE_CODES

MAX_WORDS = 500
"""Characters kept of the far end's own words."""


class Kind(StrEnum):
    """How a refused or lost hand-off is to be treated."""

    PERMANENT = "Permanent"
    TEMPORARY = "Temporary"
    RATE_LIMITED = "RateLimited"
    ACCOUNT = "Account"
    UNKNOWN = "Unknown"


class SendError(Exception):
    """A hand-off that did not end in a known acceptance.

    ``code`` is short and stable (``"550"``, ``"5.1.1"``, ``"timeout"``) and names nobody: deliveries are grouped by it,
    and whoever may see campaigns may see it. ``message`` is the far end's own words on one line and clipped to 500
    characters, ``retry_after`` seconds the far end asked to wait.
    """

    kind: ClassVar[Kind]

    def __init__(self, code: str, message: str, retry_after: float | None = None) -> None:
        """Keep the words on one line; they end up in logs, events and tables."""
        self.code = mask(code)
        self.message = one_line(message)
        self.retry_after = retry_after
        super().__init__(f"{self.code}: {self.message}")

    @property
    def is_outage(self) -> bool:
        """Whether the far end could not be reached, so that every other message would fail as well."""
        return self.kind is Kind.TEMPORARY and self.code in OUTAGE_CODES


class PermanentSendError(SendError):
    """The recipient or content will never be accepted. Definitely not accepted."""

    kind = Kind.PERMANENT


class TemporarySendError(SendError):
    """Definitely not accepted; a later attempt may succeed."""

    kind = Kind.TEMPORARY


class RateLimitedError(TemporarySendError):
    """Throttled, and definitely not accepted: defers without using up an attempt."""

    kind = Kind.RATE_LIMITED


class AccountError(TemporarySendError):
    """The account, its credentials, sender or credit: no recipient is at fault, all would fail."""

    kind = Kind.ACCOUNT


class UnknownOutcomeError(TemporarySendError):
    """The far end may have accepted the message. Only a key makes a repeat safe."""

    kind = Kind.UNKNOWN


class HandOffRefusedError(Exception):
    """The caller's clearance said no (lease short or lost, stopping). Nothing was sent."""


class ProviderConfigError(Exception):
    """A setting or secret of a provider is missing or wrong; ``message`` says the cure."""

    def __init__(self, field: str, message: str) -> None:
        """``field`` is the path inside the provider's ``spec``, such as ``http.headers.Authorization``."""
        self.field = field
        self.message = message
        super().__init__(f"{field}: {message}")


_BY_KIND: dict[Kind, type[SendError]] = {
    error.kind: error
    for error in (PermanentSendError, TemporarySendError, RateLimitedError, AccountError, UnknownOutcomeError)
}


def send_error(kind: Kind, code: str, message: str, retry_after: float | None = None) -> SendError:
    """Build the error that stands for ``kind``."""
    return _BY_KIND[kind](code, message, retry_after)


def one_line(words: str) -> str:
    """Clip to 500 characters and turn line breaks and control characters into single spaces."""
    if len(words) <= MAX_WORDS and words.isprintable() and "  " not in words:
        return words.strip()
    printable = "".join(char if char.isprintable() else " " for char in words[: MAX_WORDS * 4])
    return " ".join(printable.split())[:MAX_WORDS]
