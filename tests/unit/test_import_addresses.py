"""Phone numbers, opaque addresses and the other reserved columns of an import."""

import pytest

from sendonce_store.addresses import FieldError, normalise_opaque, normalise_phone
from sendonce_store.recipients import Address
from sendonce_worker.importing import normalise_rows


@pytest.mark.parametrize(
    "written",
    ["+15005550006", "+1 (500) 555-0006", "+1.500.555.0006", "＋１５００５５５０００６", "+1 500\u2013555\u20110006"],
)
def test_a_phone_number_is_one_person_however_it_is_written(written: str) -> None:
    assert normalise_phone(written) == Address("+15005550006", "+15005550006")


def test_the_national_prefix_inside_an_international_number_is_dropped() -> None:
    assert normalise_phone("+44 (0)20 7946 0018").normalised == "+442079460018"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("5005550006", "has no country code"),
        ("0015005550006", "has no country code"),
        ("+1 800 FLOWERS", "is not a phone number"),
        ("+1 500 555 0006 ext. 5", "is not a phone number"),
        ("tel:+15005550006", "has no country code"),
        ("+1 500", "too few digits"),
        ("+1 500 555 0006 7", "too many digits"),
        ("+999 500 555 0006", "is not a phone number"),
        ("+", "is not a phone number"),
        ("+" + "1" * 10_000, "is 10001 characters long"),
    ],
)
def test_a_wrong_phone_number_is_refused_with_its_reason(written: str, reason: str) -> None:
    with pytest.raises(FieldError, match=reason):
        normalise_phone(written)


def test_an_opaque_address_is_taken_as_it_stands() -> None:
    assert normalise_opaque("U4af4980629AbC") == Address("U4af4980629AbC", "U4af4980629AbC")


@pytest.mark.parametrize("written", ["a\nb", "a\x00b", "a\x7fb", "a\u2028b", "x" * 2049, "é" * 1025])
def test_an_opaque_address_with_control_characters_or_too_long_for_an_index_is_refused(written: str) -> None:
    with pytest.raises(FieldError):
        normalise_opaque(written)


def test_only_channels_that_the_campaign_uses_get_an_address() -> None:
    row = {"email": "ann@example.com", "phone": "not looked at", "name": "Ann"}
    (recipient,) = normalise_rows([row], 1, ["Email"]).recipients
    assert set(recipient.addresses) == {"Email"}
    assert recipient.variables == {"name": "Ann"}


def test_a_row_with_one_bad_address_is_refused_whole_and_names_the_column() -> None:
    row = {"email": "ann@example.com", "phone": "12"}
    outcome = normalise_rows([row], 7, ["Email", "SMS"])
    assert outcome.recipients == []
    (rejected,) = outcome.rejected
    assert (rejected.line, rejected.field, rejected.excerpt) == (7, "phone", "12")


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_a_recipient_without_an_address_is_kept_with_none(empty: str | None) -> None:
    (recipient,) = normalise_rows([{"id": "7", "email": empty}], 1, ["Email"]).recipients
    assert recipient.addresses == {}
    assert recipient.ref == "7"


@pytest.mark.parametrize("value", [15005550006, True, ["+15005550006"], {"number": "+15005550006"}, 0, False, []])
def test_an_address_that_is_no_string_is_refused(value: object) -> None:
    (rejected,) = normalise_rows([{"phone": value}], 1, ["SMS"]).rejected
    assert rejected.field == "phone"
    assert "must be a string" in rejected.reason


def test_a_time_zone_is_matched_whatever_its_case_and_spelt_as_iana_does() -> None:
    rows = [{"email": "a@example.com", "timezone": zone} for zone in ("asia/tokyo", " Europe/Berlin ", "", None)]
    found = [recipient.timezone for recipient in normalise_rows(rows, 1, ["Email"]).recipients]
    assert found == ["Asia/Tokyo", "Europe/Berlin", None, None]


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("timezone", "Tokyo", "is not an IANA time zone"),
        ("timezone", "../../etc/passwd", "is not an IANA time zone"),
        ("locale", "ja JP", "is not a language tag"),
        ("id", "x" * 256, "is longer than 255 characters"),
        ("id", "a\nb", "contains a control character"),
        ("id", 1.5, "must be a string"),
    ],
)
def test_a_wrong_detail_is_refused_with_its_column(column: str, value: object, reason: str) -> None:
    (rejected,) = normalise_rows([{"email": "a@example.com", column: value}], 1, ["Email"]).rejected
    assert rejected.field == column
    assert reason in rejected.reason


def test_a_number_as_id_is_its_digits() -> None:
    (recipient,) = normalise_rows([{"email": "a@example.com", "id": 42}], 1, ["Email"]).recipients
    assert recipient.ref == "42"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("a\x00b", "NUL"),
        ({"deep": ["\x00"]}, "NUL"),
        ({"\x00": 1}, "NUL"),
        ("\ud800", "surrogate"),
        ([float("nan")], "finite"),
    ],
)
def test_a_value_that_postgresql_cannot_keep_is_refused(value: object, reason: str) -> None:
    (rejected,) = normalise_rows([{"email": "a@example.com", "name": value}], 1, ["Email"]).rejected
    assert rejected.field == "name"
    assert reason in rejected.reason
    assert rejected.excerpt.isprintable()


def test_the_rows_of_a_query_are_numbered_from_the_given_line() -> None:
    rows = [{"email": "a@example.com"}, {"email": "no"}, {"email": "b@example.com"}]
    outcome = normalise_rows(rows, 501, ["Email"])
    assert [recipient.line for recipient in outcome.recipients] == [501, 503]
    assert [rejected.line for rejected in outcome.rejected] == [502]
    assert outcome.lines == 3


def test_a_long_value_is_shown_clipped_and_on_one_line() -> None:
    (rejected,) = normalise_rows([{"email": "a\nb\x1b[31m" + "x" * 10_000}], 1, ["Email"]).rejected
    assert rejected.excerpt.startswith("a b [31mxxx")
    assert rejected.excerpt.endswith("…")
    assert len(rejected.excerpt) <= 121
