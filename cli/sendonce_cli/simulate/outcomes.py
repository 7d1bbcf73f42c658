"""The words of the far end's ledger: how a hand-off ended, and why.

Nothing flows in or out: these names are shared by the deciding part, the ledger and its readers.
"""

from enum import StrEnum


class Outcome(StrEnum):
    """How the far end treated one hand-off. Only ``ACCEPTED`` means that it will deliver."""

    ACCEPTED = "accepted"
    """Taken over: the recipient gets the message (once more, if an earlier row says so too)."""
    REPEAT = "repeat"
    """The key was accepted before and is still remembered: the first answer again, no delivery."""
    REFUSED = "refused"
    """Refused for good: this recipient or this request will never be accepted."""
    TRANSIENT = "transient"
    """Refused for now; definitely not accepted."""
    THROTTLED = "throttled"
    """Refused because of the pace; definitely not accepted."""
    CONFLICT = "conflict"
    """The key is in use, or came with another payload."""
    ACCOUNT = "account"
    """Refused because of the sender's account: credentials, credit, suspension."""
    DROPPED = "dropped"
    """Received in full and forgotten: not accepted, and the sender gets no answer."""


class Cause(StrEnum):
    """Which rule of the far end decided."""

    NORMAL = "normal"
    CHANCE = "chance"
    OVERRIDE = "override"
    PACE = "pace"
    CONTROL = "control"
    OUTAGE = "outage"
    ACCOUNT_AFTER = "account_after"
    CREDENTIALS = "credentials"
    KEY_IN_USE = "key_in_use"
    OTHER_PAYLOAD = "other_payload"
    MALFORMED = "malformed"


class Reply(StrEnum):
    """What becomes of the answer on its way back."""

    ANSWERED = "answered"
    LOST = "lost"
    """The connection is reset without an answer."""
    GARBAGE = "garbage"
    """Bytes that are no answer of the protocol, then the connection is closed."""
