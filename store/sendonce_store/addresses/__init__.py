"""An address of a channel: text as somebody wrote it in, what is sent to and whose it is (`Address`) out.

The import writes normalised addresses, and whoever looks for a person, or notes a suppression, asks for them in the
same form: so there is one place that makes it. It needs email-validator and phonenumbers, which the operator does not
have: nothing else of the store imports it.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from sendonce_store.addresses.emails import normalise_email
from sendonce_store.addresses.faults import FieldError
from sendonce_store.addresses.phones import normalise_phone
from sendonce_store.recipients import Address
from sendonce_store.spec.channels import Channel

__all__ = ["NORMALISERS", "FieldError", "normalise_email", "normalise_opaque", "normalise_phone", "normalised"]

# the identity is part of a unique key: a PostgreSQL index row holds at most 2,704 bytes
_MAX_BYTES = 2048
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]").search


def normalise_opaque(value: str) -> Address:
    """An address that only its provider understands (a LINE id, a push token): taken as it stands.

    Raises `FieldError` for control characters and for more than 2,048 bytes of UTF-8.
    """
    if len(value) > _MAX_BYTES or len(value.encode()) > _MAX_BYTES:
        raise FieldError(f"is longer than {_MAX_BYTES} bytes", value=value)
    if _CONTROL(value):
        raise FieldError("contains a control character", value=value)
    return Address(value, value)


# plain strings: a `Channel` and its value are equal, but hash differently
NORMALISERS: Mapping[str, Callable[[str], Address]] = {
    **{channel.value: normalise_opaque for channel in Channel},
    "Email": normalise_email,
    "SMS": normalise_phone,
}


def normalised(text: str, channels: Iterable[str]) -> dict[str, str]:
    """The text as a normalised address of each channel for which it can be one."""
    found = {}
    for channel in channels:
        try:
            found[channel] = NORMALISERS[channel](text.strip()).normalised
        except FieldError:
            continue
    return found
