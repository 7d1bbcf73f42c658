"""How the console shows figures: bars whose parts add up and can be seen, shares that don't lie, words for names."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sendonce_console.look import SLIVER, STATES, amount, chart, clock, lasting, percent, segments, timed, tone, words
from sendonce_store.standing import Counts

COUNTS = st.dictionaries(st.sampled_from(STATES), st.integers(0, 10_000_000))


@given(COUNTS)
def test_the_parts_of_a_bar_fill_it_in_order_and_each_can_be_seen(counts: dict[str, int]) -> None:
    parts = segments(counts)
    assert [one.state for one in parts] == [state for state in STATES if counts.get(state)]
    assert all(one.width >= SLIVER / (1 + SLIVER * len(STATES) / 100) - 0.01 for one in parts)
    if parts:
        assert parts[0].x == 0
        assert parts[-1].x + parts[-1].width == pytest.approx(100, abs=0.01)
    for one, following in pairwise(parts):
        assert one.x + one.width == pytest.approx(following.x, abs=0.01)


def test_one_failure_in_a_million_is_on_the_bar() -> None:
    sent, failed = segments({"sent": 999_999, "failed": 1})
    assert failed.width > 0.6
    assert sent.width > 99


def test_every_state_of_a_delivery_has_its_place_on_a_bar() -> None:
    assert set(STATES) == set(Counts.__slots__)


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 0, "0 %"),
        (0, 9, "0 %"),
        (9, 9, "100 %"),
        (1, 3, "33.3 %"),
        (1, 10**6, "< 0.1 %"),
        (999_999, 10**6, "> 99.9 %"),
    ],
)
def test_a_share_never_rounds_something_to_nothing_or_almost_all_to_all(part: int, whole: int, said: str) -> None:
    assert percent(part, whole) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (-3, "0 s"),
        (59, "59 s"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (3_725, "1 h 2 min"),
        (273_600, "3 d 4 h"),
    ],
)
def test_a_length_of_time_is_told_in_its_two_largest_units(seconds: float, said: str) -> None:
    assert lasting(seconds) == said


@pytest.mark.parametrize(
    ("value", "said"), [(1_234_567, "1,234,567"), (0, "0"), (2.25, "2.2"), (412.6, "413"), (2.0, "2")]
)
def test_an_amount_has_its_thousands_apart(value: float, said: str) -> None:
    assert amount(value) == said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("SomeUndelivered", "Some undelivered"),
        ("retries_exhausted", "Retries exhausted"),
        ("sent", "Sent"),
        ("SMS", "SMS"),
        ("", ""),
    ],
)
def test_a_name_becomes_words(name: str, said: str) -> None:
    assert words(name) == said


def test_a_campaign_that_needs_a_person_is_red_whatever_its_reason() -> None:
    assert tone("Sending") == "busy"
    assert tone("Sending", stalled=True) == "bad"
    assert tone("NeverHeardOf") == "mute"


def test_the_highest_column_of_a_chart_is_its_full_height() -> None:
    drawn = chart([("09:00", 5), ("09:01", 10), ("09:02", 0)])
    assert [column.height for column in drawn.columns] == [50, 100, 0]
    assert (drawn.width, drawn.highest) == (30, 10)
    assert drawn.columns[1].title == "09:01: 10"
    assert chart([]).columns == ()
    assert [column.height for column in chart([("now", 0)]).columns] == [0]


def test_a_time_is_told_in_universal_time() -> None:
    east = timezone(timedelta(hours=9))
    assert clock(datetime(2026, 12, 1, 9, 30, 5, tzinfo=east)) == "2026-12-01 00:30:05"
    assert clock(datetime(2026, 12, 1, 9, 30, 5, tzinfo=UTC)) == "2026-12-01 09:30:05"


def test_moments_in_a_sentence_become_elements_and_the_rest_is_escaped() -> None:
    said = timed("<b>due</b> at 2026-12-01T09:30:05Z, or 2026-12-01 09:30:06 UTC & later")
    assert said == (
        "&lt;b&gt;due&lt;/b&gt; at "
        '<time datetime="2026-12-01T09:30:05Z" data-exact>2026-12-01 09:30:05 UTC</time>, or '
        '<time datetime="2026-12-01T09:30:06Z" data-exact>2026-12-01 09:30:06 UTC</time> &amp; later'
    )
    assert timed("<script>") == "&lt;script&gt;"
