"""In which language somebody is answered: `Accept-Language` in, the words of the best that is there out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sendonce_gateway.wording import ENGLISH, Words

__all__ = ["Languages"]

_RANGE = re.compile(r"\s*([A-Za-z0-9-]{1,35}|\*)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?")
_MOST = 20


@dataclass(frozen=True, slots=True)
class Languages:
    """The languages of an installation by their tags in lower case; `fallback`: for everybody else."""

    known: Mapping[str, Words] = field(default_factory=dict)
    fallback: Words = ENGLISH

    def spoken(self, accepted: str) -> Words:
        """The words for a header; where none of its languages is there, or it can't be read, the fallback's.

        Each language range is looked up as it is, and then without its last parts (RFC 4647 §3.4): `de-AT`, `de`.
        """
        for asked in _by_preference(accepted):
            for tag in _shorter(asked):
                if tag in self.known:
                    return self.known[tag]
        return self.fallback


def _by_preference(accepted: str) -> list[str]:
    """The ranges of a header (RFC 9110 §12.5.4) in lower case, those first that are wanted most; none of weight 0."""
    found = [_RANGE.fullmatch(part) for part in accepted.split(",")[:_MOST]]
    weighed = [(float(one[2] or 1), one[1].lower()) for one in found if one is not None]
    return [tag for weight, tag in sorted(weighed, key=lambda one: -one[0]) if weight > 0]


def _shorter(tag: str) -> Iterator[str]:
    parts = tag.split("-")
    while parts:
        yield "-".join(parts)
        parts.pop()
        if parts and len(parts[-1]) == 1:
            parts.pop()
