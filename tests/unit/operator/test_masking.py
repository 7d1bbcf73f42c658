"""What is taken out of texts that everybody may read who may view a campaign."""

import pytest

from sendonce_store.masking import clipped, mask, mask_foreign

SAID = [
    ("550 <jane.doe@example.com> unknown", "550 <j***@example.com> unknown"),
    ('550 "jane doe"@example.com unknown', "550 j***@example.com unknown"),
    ("rcpt jane+tag@mail.example.co.jp, a@b", "rcpt j***@mail.example.co.jp, ***@b"),
    ("mailto:jane@example.com:", "mailto:j***@example.com:"),
    ("иван@пример.рф", "и***@пример.рф"),
    ("+81 90-1234-5678 is no number", "+81***678 is no number"),
    ("+15005550006 is no number", "+15***006 is no number"),
]
FOREIGN = [
    ("to 15005550006: no", "to ***: no"),
    ("chat 123456789 not found", "chat *** not found"),
    ("user U4af4980629e7d1a2b3c4d5e6f7a8b9c0d", "user U4af***"),
    ("https://hooks.example.com/services/T0/B0/x?k=1 gone", "https://hooks.example.com/*** gone"),
    ("https://user:pass@hooks.example.com", "https://hooks.example.com"),
    ("421 4.7.28 try later, id 9", "421 4.7.28 try later, id 9"),
]
OURS = [
    "hand-off begins at 2026-12-04T09:00:00Z",
    "12345678 of 123456789 deliveries have ended",
    "send key spring in store 0b4f7f0e-5a8c-4c6e-9c55-1f9f6e4f3f10",
]


@pytest.mark.parametrize(("text", "masked"), SAID)
def test_addresses_are_masked_whoever_says_them(text: str, masked: str) -> None:
    assert mask(text) == masked
    assert mask_foreign(text) == masked


@pytest.mark.parametrize(("text", "masked"), FOREIGN)
def test_a_far_ends_words_are_masked_more_strictly(text: str, masked: str) -> None:
    assert mask_foreign(text) == masked


@pytest.mark.parametrize("text", OURS)
def test_our_own_counts_and_times_stay(text: str) -> None:
    assert mask(text) == text


def test_masking_is_quick_whatever_the_text() -> None:
    for text in ("a" * 100_000, "a." * 50_000 + "@", "1 " * 50_000, "+1" * 50_000, "http://" * 20_000, "a1-" * 40_000):
        mask_foreign(text)


def test_a_text_is_cut_between_characters() -> None:
    assert clipped("one\n two\t\x00three", 100) == "one two three"
    assert clipped("会" * 10, 12) == "会会会…"
    assert clipped("会" * 4, 12) == "会" * 4
    assert len(clipped("x" * 1000, 64).encode()) <= 64
