"""Quiet hours in the recipient's own zone. A time and a zone in, the moment at which sending may go on out; no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From the first quiet minute to the first minute after, in local time; `to` may be on the next day.

    `default_zone` is for recipients whose zone is not known; None: they are not sent to. `guess`: their phone's country
    is asked before.
    """

    start: time
    end: time
    default_zone: str | None
    guess: bool = False

    def ends_at(self, now: datetime, zone: str) -> datetime | None:
        """When the quiet hours end that `now` (aware) falls into; None if it falls into none.

        The window is wall-clock time: on a day on which the clocks change it is longer or shorter, and an end that
        does not exist on that day is the moment at which the clocks jump over it.
        """
        tz = _zone(zone)
        local = now.astimezone(tz)
        if not self._covers(local.time()):
            return None
        day = local.date()
        if self.start > self.end and local.time() >= self.start:
            day += timedelta(days=1)
        end = datetime.combine(day, self.end, tzinfo=tz).astimezone(UTC)
        if end <= now:  # the hour that the clocks repeat: the end is the second one
            end = datetime.combine(day, self.end, tzinfo=tz).replace(fold=1).astimezone(UTC)
        return end if end > now else None

    def _covers(self, moment: time) -> bool:
        if self.start < self.end:
            return self.start <= moment < self.end
        return moment >= self.start or moment < self.end


@lru_cache(maxsize=1024)
def own_hours(text: str) -> QuietHours:
    """A person's own quiet hours, as an import keeps them: "21:00-09:00"."""
    start, _, end = text.partition("-")
    return QuietHours(time.fromisoformat(start), time.fromisoformat(end), None)


def quiet_until(windows: Sequence[QuietHours], now: datetime, zone: str) -> datetime | None:
    """When no window is on any more; None if none is now. Of windows that follow each other, the last one's end.

    Windows that leave no minute of the day have no such end: then after a few of them it is looked at again.
    """
    moment = now
    for _ in range(2 * len(windows)):
        ends = [end for window in windows if (end := window.ends_at(moment, zone)) is not None]
        if not ends:
            break
        moment = max(ends)
    return moment if moment > now else None


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
