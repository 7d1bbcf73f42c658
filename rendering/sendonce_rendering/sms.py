"""What a text message costs: its encoding and its segments. Text in, count out; pure.

3GPP TS 23.038 §6.2.1: a message whose characters are all of GSM 03.38 has 160 of them in one segment, and 153 in each
of several, because of the header that joins them (TS 23.040 §9.2.3.24.1). One other character makes the whole message
UCS-2, with 70 and 67 UTF-16 code units. Characters of the extension table count twice, and no pair of units that
belongs together is split between segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["PLAINER", "Segments", "outside", "segments"]

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED = frozenset("\f^{}\\[~]|€")
_GSM = _BASIC | _EXTENDED

PLAINER: Mapping[str, str] = {
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2018\u2019\u201a`\u00b4", "'"),
    **dict.fromkeys("\u2010\u2011\u2013\u2014\u2212\u2022\u00b7", "-"),
    **dict.fromkeys("\u00a0\u2009\u202f\t", "a space"),
    **dict.fromkeys("\u00ad\u200b\ufeff", "nothing"),
    "\u2026": "...",
    "™": "(TM)",
    "©": "(C)",
    "®": "(R)",
}
"""Characters outside GSM 03.38 that word processors put in, with what says the same inside it."""


@dataclass(frozen=True, slots=True)
class Segments:
    """How a text travels. `units`: septets or UTF-16 code units; `room`: how many there are in so many segments."""

    encoding: str
    units: int
    count: int
    room: int


def segments(text: str) -> Segments:
    """Count the segments of a text; an empty one is one segment."""
    if outside(text):
        return _counted("UCS-2", [len(one.encode("utf-16-le", "surrogatepass")) // 2 for one in text], 70, 67)
    return _counted("GSM-7", [1 + (one in _EXTENDED) for one in text], 160, 153)


def outside(text: str) -> frozenset[str]:
    """Return the characters that make a text UCS-2."""
    return frozenset(text) - _GSM


def _counted(encoding: str, sizes: list[int], alone: int, joined: int) -> Segments:
    units = sum(sizes)
    if units <= alone:
        return Segments(encoding, units, 1, alone)
    count = sum(1 for _ in _starts(sizes, joined))
    return Segments(encoding, units, count, count * joined)


def _starts(sizes: list[int], room: int) -> Iterator[int]:
    """Yield where each segment begins."""
    left = 0
    for at, size in enumerate(sizes):
        if size > left:
            yield at
            left = room
        left -= size
