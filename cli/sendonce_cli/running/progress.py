"""What a person sees of a run: a picture that is drawn anew on a terminal, plain lines in a pipe. On standard error."""

from __future__ import annotations

import time
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from sendonce_cli.output import console, moment
from sendonce_cli.running.pace import Figures, PaceMeter
from sendonce_store.standing import Counts, Overview, Standing, standing

__all__ = ["LiveProgress", "PlainProgress", "Progress", "make_progress", "picture", "plain_line"]

BAR_CELLS = 60
# state → colour; in the order of the bar
COLOURS = {
    "sent": "green",
    "suppressed": "blue",
    "expired": "bright_black",
    "cancelled": "bright_black",
    "uncertain": "yellow",
    "failed": "red",
    "sending": "cyan",
    "pending": "grey37",
}


class Progress(Protocol):
    """Where a run reports to."""

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(self, *_: object) -> None:
        """Leave what was shown last."""
        ...

    def show(self, campaign: Overview, workers: int) -> None:
        """Show the campaign as it is now."""
        ...

    def say(self, words: str) -> None:
        """Tell something that stays."""
        ...


def make_progress(every: float, *, quiet: bool) -> Progress:
    """A picture on a terminal, else a line every so many seconds; with `quiet` only what is said."""
    shown = console(stderr=True)
    if quiet or not shown.is_terminal:
        return PlainProgress(shown, every, quiet=quiet)
    return LiveProgress(shown)


class PlainProgress:
    """A line when something changes in a word, and else every few seconds."""

    def __init__(self, shown: Console, every: float, *, quiet: bool = False) -> None:
        """Nothing is printed before the first `show`."""
        self._console = shown
        self._every = every
        self._quiet = quiet
        self._meter = PaceMeter()
        self._next = 0.0
        self._reason = ""
        self._line = ""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do."""

    def show(self, campaign: Overview, workers: int) -> None:
        """Print a line if one is due."""
        now = time.monotonic()
        figures, stands = self._meter.take(campaign, now), standing(campaign)
        if self._quiet or (now < self._next and stands.reason == self._reason):
            return
        line = plain_line(campaign, stands, figures, workers)
        self._next, self._reason = now + self._every, stands.reason
        if line != self._line:
            self._line = line
            self.say(line)

    def say(self, words: str) -> None:
        """Print it."""
        self._console.print(Text(words))


class LiveProgress:
    """The picture, several times a second, with what is said above it."""

    def __init__(self, shown: Console) -> None:
        """Nothing is drawn before the run begins."""
        self._console = shown
        self._live = Live(console=shown, auto_refresh=False, transient=False)
        self._meter = PaceMeter()

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last picture."""
        self._live.stop()

    def show(self, campaign: Overview, workers: int) -> None:
        """Draw it."""
        figures = self._meter.take(campaign, time.monotonic())
        self._live.update(picture(campaign, standing(campaign), figures, workers), refresh=True)

    def say(self, words: str) -> None:
        """Print it above the picture."""
        self._console.print(Text(words))


def plain_line(campaign: Overview, stands: Standing, figures: Figures, workers: int) -> str:
    """`spring  Sending  1,204/2,000  312/s  about 3 s left  sent=1180 failed=12  (3 workers)`."""
    counts = campaign.counts
    parts = [campaign.send_key, stands.reason, f"{counts.final:,}/{counts.total:,}", *_speed(figures)]
    parts += [" ".join(f"{state}={getattr(counts, state)}" for state in COLOURS if getattr(counts, state))]
    parts += [f"{workers} worker{'' if workers == 1 else 's'}"]
    if stands.reason != "Sending" and stands.message:
        parts.append(stands.message)
    return "  ".join(part for part in parts if part)


def picture(campaign: Overview, stands: Standing, figures: Figures, workers: int) -> RenderableType:
    """Headline, bar, counts by state, and what the campaign waits for."""
    counts = campaign.counts
    speed = " · ".join([f"{counts.final:,} of {counts.total:,}", *_speed(figures), f"{workers} workers"])
    head = Text.assemble(
        (campaign.send_key, "bold"), "  ", (stands.reason, _reason_style(stands)), "  ", (speed, "dim")
    )
    lines: list[RenderableType] = [head, _bar(counts), _legend(counts)]
    if stands.message and stands.reason != "Sending":
        lines.append(Text(stands.message, style=_reason_style(stands)))
    if campaign.waiting and campaign.next_due is not None and stands.reason == "Sending":
        lines.append(Text(f"{campaign.waiting:,} wait for another attempt, the first at {moment(campaign.next_due)}"))
    if campaign.provider_paused_until is not None and stands.reason != "ProviderPaused":
        until = moment(campaign.provider_paused_until)
        lines.append(Text(f"provider {campaign.paused_provider} paused until {until}: {campaign.pause_message or ''}"))
    return Group(*lines)


def _reason_style(stands: Standing) -> str:
    return "bold red" if stands.stalled else "cyan"


def _speed(figures: Figures) -> list[str]:
    if figures.per_second <= 0:
        return []
    left = [] if figures.seconds_left is None else [f"about {duration(figures.seconds_left)} left"]
    return [f"{figures.per_second:,.0f}/s", *left]


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 5 min`."""
    if seconds < 100:  # noqa: PLR2004 - two digits of seconds
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004


def _bar(counts: Counts) -> Text:
    """Each state's share of the deliveries; a state that occurs at all is seen."""
    bar, total = Text(), counts.total
    if total == 0:
        return Text("░" * BAR_CELLS, style="grey37")
    room = BAR_CELLS
    for state, colour in COLOURS.items():
        value = getattr(counts, state)
        cells = room if state == "pending" else min(room, max(1, round(BAR_CELLS * value / total)) if value else 0)
        bar.append(("░" if state == "pending" else "█") * cells, style=colour)
        room -= cells
    return bar


def _legend(counts: Counts) -> Text:
    legend = Text()
    for state, colour in COLOURS.items():
        if value := getattr(counts, state):
            legend.append(f"{state} ", style=colour)
            legend.append(f"{value:,}   ")
    return legend
