"""GSM-7 or UCS-2, and in how many segments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sendonce_rendering.sms import PLAINER, Segments, outside, segments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Segments("GSM-7", 0, 1, 160)),
        ("a" * 160, Segments("GSM-7", 160, 1, 160)),
        ("a" * 161, Segments("GSM-7", 161, 2, 306)),
        ("a" * 306, Segments("GSM-7", 306, 2, 306)),
        ("a" * 307, Segments("GSM-7", 307, 3, 459)),
        ("€" * 80, Segments("GSM-7", 160, 1, 160)),
        ("a" * 159 + "€", Segments("GSM-7", 161, 2, 306)),
        # the sign of the euro is two septets, which stay together: the first segment has 152
        ("a" * 152 + "€" + "a" * 152, Segments("GSM-7", 306, 3, 459)),
        ("–" + "a" * 69, Segments("UCS-2", 70, 1, 70)),
        ("–" + "a" * 70, Segments("UCS-2", 71, 2, 134)),
        ("🙂" * 35, Segments("UCS-2", 70, 1, 70)),
        ("🙂" * 67, Segments("UCS-2", 134, 3, 201)),
        ("ÄÖÜäöüß@£$Çé\n{}[]~|^\\", Segments("GSM-7", 29, 1, 160)),
    ],
)
def test_a_text_is_counted_as_the_network_does(text: str, expected: Segments) -> None:
    assert segments(text) == expected


@given(st.text(max_size=400))
def test_segments_have_room_for_the_text(text: str) -> None:
    found = segments(text)
    assert found.units <= found.room
    assert (found.encoding == "UCS-2") == bool(outside(text))
    one = {"GSM-7": 153, "UCS-2": 67}[found.encoding]
    assert found.count == 1 or found.units > (found.count - 1) * (one - 1)


def test_what_is_proposed_is_plainer() -> None:
    assert not any(outside(plainer) for plainer in PLAINER.values())
    assert all(outside(character) for character in PLAINER)
