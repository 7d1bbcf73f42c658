"""Tokens of links: the same for the same wish, closed, and worth nothing when anything about them is changed."""

from __future__ import annotations

import base64
import string
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sendonce_store.link_tokens import LONGEST, InvalidTokenError, Sealer, Wish, key_id_of
from sendonce_store.links import LinkError, LinkKey, check_url

KEY = LinkKey(b"key-0001", "shop", bytes(range(64)))
WISH = Wish("Email", "Marketing", "newsletter", "ada@example.com")
UNRESERVED = set(string.ascii_letters + string.digits + "-_")
SEALER = Sealer(KEY, "unsubscribe")
TOKEN = SEALER.seal(WISH)


def decoded(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def test_a_token_is_the_same_at_each_rendering_and_opens_to_the_wish_it_was_made_of() -> None:
    assert Sealer(KEY, "unsubscribe").seal(WISH) == TOKEN
    assert Sealer(KEY, "unsubscribe").open(TOKEN) == WISH
    assert key_id_of(TOKEN) == KEY.id


def test_the_format_never_changes_for_links_do_not_expire() -> None:
    # RFC 5297's own vectors are the library's business; this one holds what goes in and what stands around it
    assert TOKEN == (
        "a2V5LTAwMDH1xcYEFuTWjBGSgxK_4yjIf0OzoTQe1yXzrmvFGFN-tDnykEwEIHl8RKIgp5ZoyQkjcanGw5HHFB8UIUBhWpSVPSfwIw"
    )


@settings(max_examples=40)
@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from(["Email", "SMS", "Line"]), st.text(max_size=63))
def test_any_wish_comes_back_and_its_token_needs_no_escaping(
    address: str, category: str, channel: str, topic: str
) -> None:
    wish = Wish(channel, category, topic, address)
    token = SEALER.seal(wish)
    assert set(token) <= UNRESERVED
    assert SEALER.open(token) == wish


def test_neither_address_nor_topic_can_be_read_from_a_token() -> None:
    raw = decoded(TOKEN)
    for word in (b"ada", b"example", b"newsletter", b"Marketing", b"Email", b"shop"):
        assert word not in raw


@pytest.mark.parametrize("bit", range(8))
def test_a_token_with_one_bit_changed_anywhere_opens_to_nothing(bit: int) -> None:
    raw = decoded(TOKEN)
    for place in range(8, len(raw)):
        changed = bytearray(raw)
        changed[place] ^= 1 << bit
        with pytest.raises(InvalidTokenError):
            SEALER.open(encoded(bytes(changed)))


@pytest.mark.parametrize(
    "other",
    [
        Sealer(KEY, "preferences"),
        Sealer(replace(KEY, namespace="bank"), "unsubscribe"),
        Sealer(replace(KEY, secret=bytes(64)), "unsubscribe"),
        Sealer(replace(KEY, secret=KEY.secret[32:] + KEY.secret[:32]), "unsubscribe"),
    ],
    ids=["another purpose", "another namespace", "another key", "the key's halves swapped"],
)
def test_a_token_is_good_for_its_purpose_namespace_and_key_alone(other: Sealer) -> None:
    with pytest.raises(InvalidTokenError):
        other.open(TOKEN)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "A",
        TOKEN[:-1],
        TOKEN[:-4],
        TOKEN[:11],
        TOKEN + "A",
        TOKEN + "=",
        TOKEN + "\n",
        " " + TOKEN,
        TOKEN.replace("-", "+").replace("_", "/") + "/",
        TOKEN[:20] + "%" + TOKEN[20:],
        TOKEN[:20] + "é" + TOKEN[20:],
        "A" * (LONGEST + 1),
        encoded(KEY.id),
        encoded(KEY.id + bytes(16)),
        encoded(KEY.id + bytes(80)),
    ],
)
def test_what_is_no_token_opens_to_nothing(token: str) -> None:
    with pytest.raises(InvalidTokenError):
        SEALER.open(token)


def test_a_token_has_one_spelling() -> None:
    """The unused bits of the last character are zero: else one link would be several for the rate limit."""
    for wish in (WISH, replace(WISH, address="bob@example.com"), replace(WISH, address="eve.x@example.com")):
        token = SEALER.seal(wish)
        others = [token[:-1] + character for character in sorted(UNRESERVED) if character != token[-1]]
        for other in others:
            with pytest.raises(InvalidTokenError):
                SEALER.open(other)


@pytest.mark.parametrize(
    ("url", "begins"),
    [
        ("https://notify.example.com", "https://notify.example.com"),
        ("https://example.com/notify/", "https://example.com/notify"),
        ("https://example.com:8443", "https://example.com:8443"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
    ],
)
def test_links_begin_with_the_gateways_address(url: str, begins: str) -> None:
    assert check_url(url) == begins


@pytest.mark.parametrize(
    "url",
    [
        "notify.example.com",
        "http://notify.example.com",
        "http://localhost.example.com",
        "ftp://example.com",
        "https://",
        "https://example.com/?a=b",
        "https://example.com/#a",
        "https://user:secret@example.com",
        "https://example.com/a b",
        "https://example.com/>\r\nBcc: x",
        "https://example.com/\N{LATIN SMALL LETTER E WITH ACUTE}",
        "https://example.com/" + "a" * 240,
        "https://[example.com",
        "https://example.com:port",
        "http://127.0.0.1:0",
    ],
)
def test_what_can_be_in_no_header_is_no_address_of_a_gateway(url: str) -> None:
    with pytest.raises(LinkError, match=r"write https://notify\.example\.com"):
        check_url(url)
