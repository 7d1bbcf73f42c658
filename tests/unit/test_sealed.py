"""What tests take for given away: else those that look for nothing in a link would find nothing for ever."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from tests.sealed import gives_away

WORDS = "ada@example.com"


@pytest.mark.parametrize("tail", ["", "\0", "\0\0"], ids=["even", "one more", "two more"])
@pytest.mark.parametrize("padding", ["=", ""], ids=["padded", "bare"])
def test_base64_gives_away_what_is_in_it(tail: str, padding: str) -> None:
    token = base64.urlsafe_b64encode(f"Email{WORDS}{tail}".encode()).decode()
    token = token if padding else token.rstrip("=")
    assert gives_away(f"https://notify.example.com/u/{token}", WORDS)
    assert gives_away(f"/search?find={quote(token)}&before=1", WORDS)
    assert not gives_away(f"/search?find={token}", "bob@example.com")


@pytest.mark.parametrize("shown", [WORDS, quote(WORDS), quote(f"is {WORDS} here")])
def test_plain_words_are_given_away_however_they_are_escaped(shown: str) -> None:
    assert gives_away(f"/search?find={shown}", WORDS)
