"""How figures, times and states are shown; plain data in, what the templates draw out. Pure.

Bars and charts are SVG with numbers in attributes: the console's content security policy allows no inline style. Every
colour has a word beside it. `furnish` gives all of this to the templates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from sendonce_store.standing import standing

if TYPE_CHECKING:
    import jinja2

__all__ = ["STATES", "Segment", "amount", "chart", "furnish", "segments", "tone", "words"]

STATES = ("sent", "sending", "pending", "failed", "uncertain", "suppressed", "expired", "cancelled")
"""The states of a delivery in the order in which bars and legends show them."""

SLIVER = 0.7
"""The least width of a part that is not empty, in percent: one failure in a million can be seen."""

_TONES = {
    "good": ("AllSent", "AlreadySent", "Complete", "Applied", "Configured", "Verified", "Ready", "delivered", "sent"),
    "busy": ("Importing", "Sending", "Observing", "Running", "sending"),
    "wait": ("Starting", "Scheduled", "QuietHours", "Retrying", "WaitingForReference", "Cancelled", "pending"),
    "care": (
        "ProviderPaused",
        "AwaitingPromotion",
        "Suspended",
        "SomeUndelivered",
        "StoreUnavailable",
        "RateLimited",
        "Outage",
        "WaitingForCanary",
        "uncertain",
    ),
    "bad": ("failed", "bounced", "Failed"),
    "mute": ("suppressed", "expired", "cancelled"),
}
_TONE_OF = {word: tone for tone, names in _TONES.items() for word in names}
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z| UTC))")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar: from `x` on, `width` wide, both in percent of the bar."""

    state: str
    count: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a chart, in its own units: 100 high, 10 wide; `title` is what it stands for."""

    x: float
    y: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of columns, `width` units wide, with its highest value."""

    columns: tuple[Column, ...]
    width: int
    highest: float


def tone(word: str, *, stalled: bool = False) -> str:
    """The colour of a state or of the reason of a condition: good, busy, wait, care, bad or mute."""
    if stalled:
        return "bad"
    return _TONE_OF.get(word, "mute")


def words(name: str) -> str:
    """`SomeUndelivered` and `retries_exhausted` as people write them: "Some undelivered", "Retries exhausted"."""
    parts = [part if part.isupper() and len(part) > 1 else part.lower() for part in _HUMP.split(name) if part]
    text = " ".join(parts)
    return text[:1].upper() + text[1:]


def amount(value: float) -> str:
    """`1234567` as 1,234,567; a fraction below 10 keeps one digit."""
    if isinstance(value, int) or value >= 10 or value == int(value):  # noqa: PLR2004 - as the docstring says
        return f"{value:,.0f}"
    return f"{value:,.1f}"


def percent(part: float, whole: float) -> str:
    """A share in percent that never rounds something to nothing, or almost everything to everything."""
    if not whole:
        return "0 %"
    share = 100 * part / whole
    if 0 < share < 0.1:  # noqa: PLR2004 - the least that one digit shows
        return "< 0.1 %"
    if 99.9 < share < 100:  # noqa: PLR2004 - the same from the other end
        return "> 99.9 %"
    return f"{share:.0f} %" if share == int(share) else f"{share:.1f} %"


def lasting(seconds: float) -> str:
    """A length of time in its two largest units: "3 d 4 h", "12 s"."""
    left = max(0, int(seconds))
    shown: list[str] = []
    for size, unit in _UNITS:
        if left >= size or (shown and left):
            shown.append(f"{left // size} {unit}")
            left %= size
    return " ".join(part for part in shown[:2] if not part.startswith("0 ")) or "0 s"


def clock(when: datetime) -> str:
    """`2026-12-01 09:30:05` of universal time, to the second."""
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def segments(counts: Mapping[str, int], order: Sequence[str] = STATES) -> list[Segment]:
    """The parts of a bar that is 100 wide. Each part that is not empty can be seen, so the others give way a little."""
    there = [(state, counts.get(state, 0)) for state in order if counts.get(state, 0) > 0]
    total = sum(count for _, count in there)
    raised = [max(SLIVER, 100 * count / total) for _, count in there]
    scale = 100 / sum(raised) if raised else 0
    found, x = [], 0.0
    for (state, count), width in zip(there, raised, strict=True):
        found.append(Segment(state, count, round(x, 3), round(width * scale, 3)))
        x += width * scale
    return found


def chart(points: Sequence[tuple[str, float]]) -> Chart:
    """Columns for (title, value) from left to right; the highest is 100 units high."""
    highest = max((value for _, value in points), default=0.0)
    heights = [round(100 * value / highest, 2) if highest else 0.0 for _, value in points]
    columns = [
        Column(10.0 * no, round(100 - height, 2), height, f"{title}: {amount(value)}")
        for no, ((title, value), height) in enumerate(zip(points, heights, strict=True))
    ]
    return Chart(tuple(columns), 10 * len(points), highest)


def timed(text: str) -> Markup:
    """A sentence, escaped, whose moments (2026-12-01T09:30:05Z) are elements that the script can tell about."""
    pieces = [escape(part) for part in _MOMENT.split(text)]
    pieces[1::2] = [_moment(str(piece)) for piece in pieces[1::2]]
    return Markup("").join(pieces)


def sentence(text: str) -> str:
    """The same with a large letter at its beginning."""
    return text[:1].upper() + text[1:]


def _moment(text: str) -> Markup:
    day, at = text[:10], text[11:19]
    return Markup('<time datetime="{0}T{1}Z" data-exact>{0} {1} UTC</time>').format(day, at)


def furnish(environment: jinja2.Environment) -> None:
    """Give the templates what they draw with."""
    shown = (amount, clock, lasting, sentence, timed, tone, words)
    environment.filters.update({function.__name__: function for function in shown})
    environment.globals.update(segments=segments, chart=chart, percent=percent, standing=standing, STATES=STATES)
