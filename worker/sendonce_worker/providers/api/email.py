"""An email in the parts that mail APIs ask for."""

from __future__ import annotations

from dataclasses import dataclass
from email.charset import SHORTEST, Charset
from email.utils import formataddr, getaddresses

from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import AccountError, PermanentSendError

# Of our own: a library that is loaded may change the one that the standard library keeps for everybody.
_UTF_8 = Charset("utf-8")
_UTF_8.header_encoding = SHORTEST


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A name, perhaps empty, and an address."""

    name: str
    address: str

    def to_json(self) -> dict[str, str]:
        """Return it as APIs take it that keep the two apart."""
        return {"email": self.address, "name": self.name} if self.name else {"email": self.address}


def sender_of(message: Message) -> str:
    """Return the From line. Without one every recipient would fail: raises ``AccountError``."""
    if message.content.sender is None:
        raise AccountError("no_sender", "the message has no sender: set template.from to an address of the account")
    return message.content.sender


def mailbox(line: str, field: str) -> Mailbox:
    """Take a line such as ``News <news@example.com>`` apart. Raises ``PermanentSendError`` if it is not one address."""
    found = getaddresses([line])
    if len(found) != 1 or "@" not in found[0][1]:
        raise PermanentSendError("bad_address", f"{field} must be one address, such as News <news@example.com>")
    return Mailbox(*found[0])


def ascii_mailbox(line: str, field: str) -> str:
    """Write one mailbox in ASCII, its name as an encoded word (RFC 2047). Raises ``PermanentSendError``."""
    found = mailbox(line, field)
    try:
        return formataddr((found.name, found.address), _UTF_8)
    except UnicodeEncodeError as error:
        raise PermanentSendError("bad_address", f"{field} must be an address in ASCII for this far end") from error


def mailboxes(line: str | None, field: str) -> list[str]:
    """Return the addresses of a line of several. Raises ``PermanentSendError``."""
    if line is None:
        return []
    found = [address for _, address in getaddresses([line])]
    if not all("@" in address for address in found):
        raise PermanentSendError("bad_address", f"{field} must be addresses, such as desk@example.com")
    return found
