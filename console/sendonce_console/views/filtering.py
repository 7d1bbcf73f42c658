"""Filters and places in addresses: text in, what the store takes, or the error that names the field, out. Pure."""

from __future__ import annotations

import re
from typing import Protocol

from sendonce_console.look import STATES
from sendonce_console.web.problems import bad_request
from sendonce_store.ledger import Filter
from sendonce_store.named_people import BIGGEST_LINE
from sendonce_store.ordering import snake
from sendonce_store.spec import Channel

__all__ = ["CHANNELS", "STATES", "Query", "read_filter", "read_limit", "read_place", "read_words"]

CHANNELS = tuple(channel.value for channel in Channel)
_PLACE = re.compile(r"(\d{1,19})-(\d{1,9})", re.ASCII)
_LONGEST = 64
_MOST = 20
_MOST_ITEMS = 500


class Query(Protocol):
    """Parameters of an address, each perhaps several times."""

    def getall(self, key: str, default: list[str]) -> list[str]:
        """All values of a parameter."""


def read_filter(query: Query) -> Filter:
    """`state`, `channel`, `reason` and `code`, each perhaps several times. Raises ProblemError."""
    states, channels = read_words(query, "state"), read_words(query, "channel")
    _check("state", states, STATES)
    _check("channel", channels, CHANNELS)
    reasons = [snake(word) if word[:1].isupper() else word for word in read_words(query, "reason")]
    return Filter(states or None, reasons or None, read_words(query, "code") or None, channels or None)


def read_words(query: Query, name: str) -> list[str]:
    """All values of a parameter that are not empty. Raises ProblemError."""
    found = [word.strip() for word in query.getall(name, []) if word.strip()]
    if len(found) > _MOST:
        raise bad_request(name, f"is given {len(found)} times", f"Give it {_MOST} times at most.")
    if any(len(word) > _LONGEST or not word.isprintable() for word in found):
        raise bad_request(name, "is none that there can be", f"Give a word of at most {_LONGEST} characters.")
    return found


def _check(name: str, given: list[str], known: tuple[str, ...]) -> None:
    for word in given:
        if word not in known:
            raise bad_request(name, f"{word} is none there is", f"Use {', '.join(known)}.")


def read_place(text: str) -> tuple[int, int]:
    """`12-500`, as a list's `next` gave it; nothing: from the beginning. Raises ProblemError."""
    if not text:
        return 0, 0
    found = _PLACE.fullmatch(text)
    if found is None or int(found[1]) > BIGGEST_LINE:
        raise bad_request("after", "is no place in a list", "Take it from `next` of the page before, or leave it out.")
    return int(found[1]), int(found[2])


def read_limit(text: str, default: int = 100) -> int:
    """How many at most. Raises ProblemError."""
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= _MOST_ITEMS:
        raise bad_request("limit", "is no number that can be used", f"Give one from 1 to {_MOST_ITEMS}.")
    return int(text[:9])
