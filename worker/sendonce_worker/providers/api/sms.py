"""What text messages are made of (3GPP TS 23.038): which alphabet a text needs."""

from __future__ import annotations

from sendonce_rendering.sms import outside
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import AccountError


def fits_gsm_7(text: str) -> bool:
    """Say whether the text needs no UCS-2."""
    return not outside(text)


def originator(message: Message) -> str:
    """Return the sender's number or name. Without one every recipient would fail: raises ``AccountError``."""
    if not message.content.sender:
        raise AccountError(
            "no_sender", "the message has no sender: set template.from to a number or name of the account"
        )
    return message.content.sender
