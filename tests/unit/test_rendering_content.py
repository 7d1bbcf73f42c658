"""The frozen content of one message and its digest."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sendonce_rendering import Content

PART = st.none() | st.text(max_size=5)
CONTENT = st.builds(
    Content, PART, PART, PART, PART, PART, st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3))).map(tuple)
)


@given(CONTENT, CONTENT)
def test_two_contents_have_the_same_digest_only_if_they_are_the_same(one: Content, other: Content) -> None:
    assert (one.digest() == other.digest()) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Content(text=""), Content(text=None)),
        (Content(subject="ab", text="c"), Content(subject="a", text="bc")),
        (Content(subject="a"), Content(text="a")),
        (Content(headers=(("X-A", "b"),)), Content(headers=(("X-Ab", ""),))),
        (Content(headers=(("a", "b"), ("c", "d"))), Content(headers=(("c", "d"), ("a", "b")))),
        (Content(text="-;"), Content(text=None, html="")),
    ],
)
def test_moving_a_letter_between_parts_changes_the_digest(one: Content, other: Content) -> None:
    assert one.digest() != other.digest()


def test_the_digest_of_a_content_never_changes_between_releases() -> None:
    content = Content("a@example.com", None, "Hi", "Tëxt", "<p>", (("X-Tag", "1"),))
    assert content.digest().hex() == "c5d35012b7140ceb1bd7fc223503e3c3dc9350257ac136d30b464ffed52dbf50"


def test_a_content_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Content(text="a").text = "b"  # type: ignore[misc]
