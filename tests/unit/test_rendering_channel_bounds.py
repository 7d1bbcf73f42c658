"""What a channel takes at most."""

from __future__ import annotations

import pytest

from sendonce_rendering import RenderError, TemplateError, compile_message


@pytest.mark.parametrize(
    ("channel", "fits"),
    [
        ("Push", "x" * (4096 - len('{"title":"t","body":""}'))),
        ("Push", "é" * ((4096 - len('{"title":"t","body":""}')) // 2)),
        ("WebPush", "x" * (3993 - len('{"title":"t","body":""}'))),
        ("Line", "x" * 5000),
        ("Line", "🙂" * 2500),
        ("Telegram", "x" * 4096),
        ("Slack", "x" * 40_000),
    ],
)
def test_a_message_that_is_too_long_is_refused_before_it_is_sent(channel: str, fits: str) -> None:
    message = compile_message({"subject": "t", "text": "{{ body }}"}, channel)
    assert message.render({"body": fits}).text == fits
    with pytest.raises(
        RenderError, match=rf"text: title and text have .*; the channel {channel} takes .*: shorten"
    ) as raised:
        message.render({"body": fits + "é"})
    assert raised.value.code == "too_large"


def test_a_text_without_variables_is_refused_at_once() -> None:
    with pytest.raises(TemplateError, match="the channel Line takes 5,000"):
        compile_message({"text": "x" * 5001}, "Line")
