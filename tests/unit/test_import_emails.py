"""Email addresses of an import: the fast path and email-validator must agree."""

import string
import time

import pytest
from email_validator import EmailNotValidError, validate_email
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sendonce_store.addresses import FieldError, normalise_email

ATEXT = string.ascii_letters + string.digits + "!#$%&'*+-/=?^_`{|}~"
LOCALS = st.one_of(
    st.text(ATEXT + ".", min_size=1, max_size=70),
    st.text(ATEXT + '."@ \\\u212aéı\u0301＠', min_size=0, max_size=20),
    st.sampled_from(["Info", "SALES", "postmaster", "a..b", ".a", "a.", "x" * 245, "x" * 240]),
)
KNOWN_DOMAINS = (
    "example.com Example.ORG mail.example.com bücher.example.com xn--bcher-kva.example.com localhost example "
    "example.test [192.0.2.1] -a.example.com ab--c.example.com example.com. 例え.example.com example。com EXAMPLE.c0m1 "
    f"{'x' * 64}.example.com \u212aing.example.com"
)
DOMAINS = st.one_of(
    st.sampled_from([*KNOWN_DOMAINS.split(" "), "", "exa mple.com"]),
    st.text(string.ascii_letters + string.digits + "-._", min_size=1, max_size=30),
)


def by_library(value: str) -> tuple[str, str] | None:
    try:
        valid = validate_email(value, check_deliverability=False)
    except EmailNotValidError:
        return None
    original = valid.ascii_email or valid.normalized
    return original, original.lower()


def by_us(value: str) -> tuple[str, str] | None:
    try:
        address = normalise_email(value)
    except FieldError:
        return None
    return address.original, address.normalised


@settings(max_examples=500, deadline=None)
@given(LOCALS, DOMAINS)
@example("Info", "example.com")
@example("\u212aate", "example.com")
@example("x" * 242, "example.com")
@example("x" * 243, "example.com")
def test_the_fast_path_agrees_with_the_library_on_every_address(local: str, domain: str) -> None:
    # the domain is remembered first, so that the second answer may come from the fast path
    by_us(f"ann@{domain}")
    value = f"{local}@{domain}"
    assert by_us(value) == by_library(value)
    assert by_us(value) == by_library(value)


@given(st.text(max_size=40))
def test_any_text_gets_the_librarys_verdict(value: str) -> None:
    assert by_us(value) == by_library(value)


def test_case_is_kept_for_sending_and_ignored_for_identity() -> None:
    address = normalise_email("Ann.Lee@Example.COM")
    assert address.original == "Ann.Lee@example.com"
    assert address.normalised == "ann.lee@example.com"


def test_a_domain_outside_ascii_is_sent_to_in_punycode_and_is_one_person_with_it() -> None:
    written, encoded = normalise_email("ann@bücher.example.com"), normalise_email("ann@xn--bcher-kva.example.com")
    assert written == encoded
    assert written.original == "ann@xn--bcher-kva.example.com"


def test_an_address_of_ten_thousand_characters_is_refused_quickly() -> None:
    started = time.perf_counter()
    for value in ("a" * 10_000, "a" * 10_000 + "@example.com", "@" * 10_000, "é\u0301" * 5_000 + "@example.com"):
        with pytest.raises(FieldError, match="has at most 254"):
            normalise_email(value)
    assert time.perf_counter() - started < 0.1


def test_the_reason_for_a_secret_repeats_nothing_of_the_address() -> None:
    with pytest.raises(FieldError) as caught:
        normalise_email("hunter2 (x)@example.com")
    assert "hunter2" not in caught.value.reason
    assert "(" not in caught.value.reason
    assert "example.com" in caught.value.reason


def test_the_memory_of_domains_is_bounded() -> None:
    from sendonce_store.addresses import emails  # noqa: PLC0415 -- its bound is looked at, not its names

    for number in range(emails._REMEMBERED_DOMAINS + 10):  # noqa: SLF001
        emails._remember(f"d{number}.example.com", f"d{number}.example.com")  # noqa: SLF001
    assert len(emails._domains) <= emails._REMEMBERED_DOMAINS  # noqa: SLF001
