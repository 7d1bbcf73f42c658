"""Addresses for the envelope and for the header fields that hold them.

In: a recipient's address, or a ``from``/``replyTo`` as people write it (``Shop <news@example.com>``). Out: ASCII
wherever SMTP needs it; a local part beyond ASCII keeps its characters and asks for SMTPUTF8 (RFC 6531).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.headerregistry import Address as Named
from email.policy import SMTP, SMTPUTF8
from functools import lru_cache

import idna

from sendonce_worker.providers.errors import PermanentSendError
from sendonce_worker.providers.smtp.fields import checked_value

_ADDRESS = re.compile(
    r"""([^\s<>()\[\]\\,;:"@\x00-\x1f\x7f-\x9f]{1,64})@([^\s<>()\[\]\\,;:"@\x00-\x1f\x7f-\x9f]{1,255})"""
)


@dataclass(frozen=True, slots=True)
class Address:
    """An envelope address; ``utf8`` says that it needs SMTPUTF8."""

    text: str
    domain: str
    utf8: bool


@dataclass(frozen=True, slots=True)
class AddressField:
    """A header field with addresses, encoded with its CRLF, and the first address in it."""

    line: bytes
    first: Address


def envelope_address(text: str) -> Address:
    """Check one bare address. Raises ``PermanentSendError``."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise PermanentSendError("invalid_address", f"{text[:100]!r} is not a mail address")
    local, domain = found[1], found[2]
    ascii_domain = domain if domain.isascii() else _ascii_domain(domain)
    return Address(f"{local}@{ascii_domain}", ascii_domain, not local.isascii())


@lru_cache(maxsize=4096)
def _ascii_domain(domain: str) -> str:
    try:
        return idna.encode(domain, uts46=True).decode("ascii")
    except idna.IDNAError as error:
        raise PermanentSendError("invalid_address", f"the domain {domain!r} is not valid: {error}") from error


@lru_cache(maxsize=1024)
def address_field(name: str, value: str) -> AddressField:
    """Encode ``From`` or ``Reply-To`` (RFC 5322 §3.6.2, RFC 2047). Raises ``PermanentSendError``.

    The standard library does the encoding; the result is remembered, since a campaign has few senders.
    """
    checked_value(name, value)
    try:
        addresses = SMTP.header_factory(name, value).addresses
    except (ValueError, IndexError, AttributeError) as error:
        raise _invalid(name, value) from error
    if not addresses or (name == "From" and len(addresses) != 1):
        raise _invalid(name, value)
    try:
        checked = [envelope_address(address.addr_spec) for address in addresses]
    except PermanentSendError as error:
        raise _invalid(name, value) from error
    utf8 = any(address.utf8 for address in checked)
    shown = ", ".join(
        str(Named(one.display_name, *two.text.rsplit("@", 1))) for one, two in zip(addresses, checked, strict=True)
    )
    policy = SMTPUTF8 if utf8 else SMTP
    line = policy.fold_binary(name, policy.header_factory(name, shown))
    return AddressField(line, Address(checked[0].text, checked[0].domain, utf8))


def _invalid(name: str, value: str) -> PermanentSendError:
    return PermanentSendError(
        "invalid_sender", f"{name} {value[:100]!r} is not an address like News <news@example.com>"
    )
