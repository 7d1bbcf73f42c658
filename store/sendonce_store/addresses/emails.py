"""Email addresses: text in, `Address` out, at the speed of an import.

email-validator is the judge of what an address is (no DNS is asked). It takes about 20 µs; a list of a million people
has few domains, so its verdict on a domain is remembered, and an address whose local part is a plain ASCII dot-atom
(RFC 5322 §3.2.3) at a remembered domain is put together here. Everything unusual goes to the library.
"""

import re

from email_validator import EmailNotValidError, validate_email

from sendonce_store.addresses.faults import FieldError
from sendonce_store.recipients import Address

# RFC 5321 §4.5.3.1.3 with errata 1690: nothing longer can be valid, and the library takes long to say so
MAX_LENGTH = 254
_REMEMBERED_DOMAINS = 20_000
_ATEXT = r"[A-Za-z0-9_!#$%&'*+\-/=?^`{|}~]+"
_DOT_ATOM = re.compile(rf"{_ATEXT}(?:\.{_ATEXT})*").fullmatch
# RFC 2142 mailboxes, whose case the library changes
_ROLE_NAMES = frozenset(
    {"info", "marketing", "sales", "support", "abuse", "noc", "security", "postmaster", "hostmaster", "usenet", "news"}
    | {"webmaster", "www", "uucp", "ftp"}
)

_domains: dict[str, str] = {}


def normalise_email(value: str) -> Address:
    """The address to send to, and its identity: the same, all in lower case.

    A domain outside ASCII is sent to in its Punycode form, unless the local part needs SMTPUTF8 anyway.
    Raises `FieldError`.
    """
    local, _, domain = value.partition("@")
    known = _domains.get(domain)
    if known is not None and len(value) <= MAX_LENGTH and _DOT_ATOM(local):
        lowered = local.lower()
        accepted = lowered if lowered in _ROLE_NAMES else local
        original = value if accepted == local and known == domain else f"{accepted}@{known}"
        return Address(original, original if accepted == lowered else f"{lowered}@{known}")
    return _by_library(value)


def _by_library(value: str) -> Address:
    if len(value) > MAX_LENGTH:
        reason = f"is {len(value)} characters long; an email address has at most {MAX_LENGTH}"
        raise FieldError(reason, value=value)
    try:
        valid = validate_email(value, check_deliverability=False)
    except EmailNotValidError as error:
        reason = "is not a valid email address, such as ann@example.com"
        raise FieldError(reason, detail=str(error), value=value) from None
    _remember(value.rpartition("@")[2], valid.ascii_domain)
    original = valid.ascii_email or valid.normalized
    return Address(original, original.lower())


def _remember(domain: str, accepted: str) -> None:
    """Keep the verdict on a plain ASCII domain; one that the library rewrites otherwise than by case is left to it."""
    if domain.lower() != accepted or accepted.startswith("xn--") or ".xn--" in accepted:
        return
    if len(_domains) >= _REMEMBERED_DOMAINS:
        _domains.clear()
    _domains[domain] = accepted
