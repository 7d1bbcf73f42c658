"""What somebody typed into the search field, understood: text in, what to look for, or why it can't be looked for, out.

An id is looked for as it stands. An address is looked for in the form that the import gives it, on each channel for
which it can be one; a beginning of one from three characters on. Everything goes through an index. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sendonce_store.addresses import normalised
from sendonce_store.console_people import AddressHit, RefHit
from sendonce_store.spec import Channel

__all__ = ["LONGEST", "SHORTEST_PREFIX", "Hit", "Search", "of_address", "of_ref", "one_person", "refusal", "understand"]

LONGEST = 320
SHORTEST_PREFIX = 3
_CHANNELS = tuple(channel.value for channel in Channel)
_PUNCTUATION = re.compile(r"[ ().\-/\u2010-\u2015]")


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for. `prefixes` is empty where the text is too short to begin an address with."""

    text: str
    addresses: Mapping[str, str]
    prefixes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Hit:
    """A recipient of a campaign who may be meant. `addresses`: (channel, normalised) of theirs that are known."""

    namespace: str
    send_key: str
    name: str
    line: int
    ref: str | None
    addresses: Sequence[tuple[str, str]]
    state: str | None = None
    reason: str | None = None


def refusal(text: str) -> str | None:
    """Why the text can't be looked for, and what would do; None: it can."""
    if not text:
        return "Give an address, an id or a message id."
    if len(text) > LONGEST:
        return f"That is {len(text)} characters long; addresses and ids have at most {LONGEST}."
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in text):
        return "There is a control character in it. Type it, instead of pasting it."
    return None


def understand(text: str) -> Search:
    """What a text that is not refused can be."""
    found = normalised(text, _CHANNELS)
    prefixes = {}
    if len(text) >= SHORTEST_PREFIX:
        prefixes = dict.fromkeys(_CHANNELS, text) | {"Email": text.lower()}
        phone = _PUNCTUATION.sub("", unicodedata.normalize("NFKC", text))
        prefixes["SMS"] = phone
        if not re.fullmatch(r"\+\d{2,15}", phone):
            del prefixes["SMS"]
    return Search(text, found, prefixes)


def of_address(hit: AddressHit) -> Hit:
    """As the list shows it."""
    address = ((hit.channel, hit.address),)
    return Hit(hit.namespace, hit.send_key, hit.name, hit.line, hit.ref, address, hit.state, hit.reason)


def of_ref(hit: RefHit) -> Hit:
    """As the list shows it."""
    addresses = [(channel, pair[1]) for channel, pair in hit.addresses.items()]
    return Hit(hit.namespace, hit.send_key, hit.name, hit.line, hit.ref, addresses)


def one_person(hits: Sequence[Hit]) -> Hit | None:
    """The newest hit, if all are the same person: of one namespace, and joined by an address. Else None.

    An id alone joins nobody: another list may number other people in the same way.
    """
    if not hits or len({hit.namespace for hit in hits}) > 1:
        return None
    known, left = set(hits[0].addresses), list(hits[1:])
    while left:
        joined = [hit for hit in left if known.intersection(hit.addresses)]
        if not joined:
            return None
        for hit in joined:
            known.update(hit.addresses)
            left.remove(hit)
    return hits[0]
