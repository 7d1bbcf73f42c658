"""What is found in a template before anything is made of it."""

from __future__ import annotations

from typing import Any

import pytest

from sendonce_rendering import TemplateError, check_message

MAIL: dict[str, Any] = {"from": "a@example.com", "subject": "Hello {{ name }}", "text": "Hello"}
MJML = "<mjml><mj-body><mj-text>{{ name }}</mj-text></mj-body></mjml>"
WRONG = "Hello\n{{ name | uper }}"


def variant(**parts: str) -> dict[str, Any]:
    return {"variants": [{"locale": "de", **parts}]}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"html": "<p>{{ name }}</p>", "inlineCSS": True},
        {"mjml": MJML, "text": None},
        variant(text="Hallo {{ name }}"),
        variant(mjml=MJML),
    ],
)
def test_what_can_be_sent_is_left_alone(change: dict[str, Any]) -> None:
    check_message(MAIL | change, "Email")


@pytest.mark.parametrize(
    ("change", "field", "line"),
    [
        ({"text": WRONG}, "text", 2),
        ({"subject": "{{ name"}, "subject", 1),
        ({"html": "{% include 'x' %}"}, "html", 1),
        ({"mjml": f"{MJML}\n{WRONG}"}, "mjml", 3),
        ({"headers": {"X-Tag": "{{ name | uper }}"}}, "headers.X-Tag", 1),
        ({"headers": {"To": "x"}}, "headers.To", None),
        (variant(text=WRONG), "variants[de].text", 2),
        (variant(mjml=WRONG), "variants[de].mjml", 2),
        ({"locale": "xx-QQ"}, "locale", None),
    ],
)
def test_what_is_wrong_is_named_with_its_line(change: dict[str, Any], field: str, line: int | None) -> None:
    with pytest.raises(TemplateError) as error:
        check_message(MAIL | change, "Email")
    assert (error.value.field, error.value.line) == (field, line)
