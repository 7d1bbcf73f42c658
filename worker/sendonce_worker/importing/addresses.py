"""The address column of each channel; how its text becomes an `Address` is the store's to say."""

from collections.abc import Iterable, Mapping

from sendonce_store.addresses import NORMALISERS
from sendonce_store.spec import channels as spec

__all__ = ["ADDRESS_COLUMNS", "NORMALISERS", "channel_names"]

# plain strings: a `Channel` and its value are equal, but hash differently
ADDRESS_COLUMNS: Mapping[str, str] = {channel.value: column for channel, column in spec.ADDRESS_COLUMNS.items()}


def channel_names(channels: Iterable[str]) -> frozenset[str]:
    """The channels' values ("Email"), whether given as `Channel` or as text. Raises `ValueError` for others."""
    return frozenset(spec.Channel(channel).value for channel in channels)
