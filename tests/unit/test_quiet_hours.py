"""Quiet hours in the recipient's own zone, right across daylight-saving changes."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sendonce_worker.sending.quiet_hours import QuietHours, own_hours, quiet_until

NIGHT = QuietHours(time(21), time(9), None)
NOON = QuietHours(time(12), time(13, 30), None)


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "end"),
    [
        ("2026-12-01T20:59:59+09:00", None),
        ("2026-12-01T21:00:00+09:00", "2026-12-02T09:00:00+09:00"),
        ("2026-12-02T00:30:00+09:00", "2026-12-02T09:00:00+09:00"),
        ("2026-12-02T08:59:59+09:00", "2026-12-02T09:00:00+09:00"),
        ("2026-12-02T09:00:00+09:00", None),
    ],
)
def test_a_window_over_midnight_ends_in_the_morning(now: str, end: str | None) -> None:
    assert NIGHT.ends_at(_utc(now), "Asia/Tokyo") == (_utc(end) if end else None)


@pytest.mark.parametrize(
    ("now", "end"),
    [
        ("2026-12-01T11:59:00+01:00", None),
        ("2026-12-01T12:00:00+01:00", "2026-12-01T13:30:00+01:00"),
        ("2026-12-01T13:30:00+01:00", None),
    ],
)
def test_a_window_within_a_day(now: str, end: str | None) -> None:
    assert NOON.ends_at(_utc(now), "Europe/Berlin") == (_utc(end) if end else None)


def test_the_same_moment_is_quiet_in_one_zone_and_not_in_another() -> None:
    now = _utc("2026-12-01T12:00:00+00:00")
    assert NIGHT.ends_at(now, "Asia/Tokyo") is not None  # 21:00 there
    assert NIGHT.ends_at(now, "Europe/London") is None


def test_the_night_on_which_clocks_go_forward_is_an_hour_shorter() -> None:
    now = _utc("2026-03-28T22:00:00+01:00")
    end = NIGHT.ends_at(now, "Europe/Berlin")
    assert end == _utc("2026-03-29T09:00:00+02:00")
    assert end is not None
    assert end - now == timedelta(hours=10)


def test_the_night_on_which_clocks_go_back_is_an_hour_longer() -> None:
    now = _utc("2026-10-24T22:00:00+02:00")
    end = NIGHT.ends_at(now, "Europe/Berlin")
    assert end is not None
    assert end - now == timedelta(hours=12)


def test_an_end_that_the_clocks_jump_over_is_the_moment_of_the_jump() -> None:
    early = QuietHours(time(21), time(2, 30), None)
    end = early.ends_at(_utc("2026-03-29T01:30:00+01:00"), "Europe/Berlin")
    assert end == _utc("2026-03-29T03:30:00+02:00")


def test_an_end_within_the_repeated_hour_is_not_in_the_past() -> None:
    early = QuietHours(time(21), time(2, 30), None)
    now = _utc("2026-10-25T02:10:00+01:00")  # the second 02:10
    end = early.ends_at(now, "Europe/Berlin")
    assert end == _utc("2026-10-25T02:30:00+01:00")


@given(
    st.integers(0, 3 * 365 * 24 * 60),
    st.sampled_from(["Asia/Tokyo", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
    st.times(),
    st.times(),
)
def test_the_end_is_ahead_within_a_day_and_no_longer_quiet(minutes: int, zone: str, start: time, end: time) -> None:
    start, end = start.replace(second=0, microsecond=0), end.replace(second=0, microsecond=0)
    if start == end:
        return
    now = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    quiet = QuietHours(start, end, None)
    until = quiet.ends_at(now, zone)
    if until is None:
        return
    assert now < until <= now + timedelta(hours=25, minutes=1)
    after = until.astimezone(ZoneInfo(zone))
    assert (
        quiet.ends_at(until, zone) is None
        or after.fold
        or after.utcoffset() != now.astimezone(ZoneInfo(zone)).utcoffset()
    )


@pytest.mark.parametrize(
    ("own", "now", "end"),
    [
        ("12:00-14:00", "2026-12-01T12:30:00+09:00", "2026-12-01T14:00:00+09:00"),
        ("20:00-22:00", "2026-12-01T20:30:00+09:00", "2026-12-02T09:00:00+09:00"),  # the night begins in it
        ("08:00-11:00", "2026-12-01T23:00:00+09:00", "2026-12-02T11:00:00+09:00"),
        ("22:00-06:00", "2026-12-01T23:00:00+09:00", "2026-12-02T09:00:00+09:00"),
        ("12:00-14:00", "2026-12-01T15:00:00+09:00", None),
    ],
)
def test_a_persons_own_hours_stand_beside_those_of_the_campaign(own: str, now: str, end: str | None) -> None:
    found = quiet_until([NIGHT, own_hours(own)], _utc(now), "Asia/Tokyo")
    assert found == (_utc(end) if end else None)


def test_hours_that_leave_no_minute_are_looked_at_again_later() -> None:
    now = _utc("2026-12-01T12:00:00+09:00")
    found = quiet_until([NIGHT, own_hours("09:00-21:00")], now, "Asia/Tokyo")
    assert found is not None
    assert now < found < now + timedelta(days=3)
