"""The address column of each channel, and how its text becomes an `Address`."""

import re
from collections.abc import Callable, Iterable, Mapping

from sendonce_store.recipients import Address
from sendonce_store.spec import channels as spec

from .emails import normalise_email
from .faults import FieldError
from .phones import normalise_phone

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
ADDRESS_COLUMNS: Mapping[str, str] = {channel.value: column for channel, column in spec.ADDRESS_COLUMNS.items()}

NORMALISERS: Mapping[str, Callable[[str], Address]] = {
    **dict.fromkeys(ADDRESS_COLUMNS, normalise_opaque),
    "Email": normalise_email,
    "SMS": normalise_phone,
}


def channel_names(channels: Iterable[str]) -> frozenset[str]:
    """The channels' values ("Email"), whether given as `Channel` or as text. Raises `ValueError` for others."""
    return frozenset(spec.Channel(channel).value for channel in channels)
