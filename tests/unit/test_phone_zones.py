"""The zone that a phone number tells, where it is certain."""

import pytest

from sendonce_worker.sending.phone_zones import zone_of_country, zone_of_phone


@pytest.mark.parametrize(
    ("number", "zone"),
    [
        ("+819012345678", "Asia/Tokyo"),
        ("+4915112345678", "Europe/Berlin"),  # two zones, one time
        ("+447400123456", "Europe/London"),
        ("+61412345678", None),
        ("+12025550123", None),
        ("+15005550006", None),  # of no country
        ("+80012345678", None),
        ("nonsense", None),
    ],
)
def test_a_zone_is_told_where_the_whole_country_keeps_one_time(number: str, zone: str | None) -> None:
    assert zone_of_phone(number) == zone


def test_a_country_with_several_times_and_one_that_is_unknown_tell_none() -> None:
    assert (zone_of_country("US"), zone_of_country("ZZ"), zone_of_country("FR")) == (None, None, "Europe/Paris")
