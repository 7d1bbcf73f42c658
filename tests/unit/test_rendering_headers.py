"""Nothing that a recipient's data holds can change the shape of a message's header."""

from __future__ import annotations

import email
import email.policy
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sendonce_rendering import RenderError, TemplateError, compile_message

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
EVERY_LINE = compile_message(
    {
        "from": "{{ x }} <news@example.com>",
        "replyTo": "{{ x|upper }}@example.com",
        "subject": "Hi {{ x }}{{ x|title }}",
        "text": "t",
        "headers": {"X-Tag": "{{ x|default('') }}", "X-Joined": "{{ [x, x]|join('-') }}{{ x ~ x|tojson }}"},
    },
    "Email",
)
TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n\0\x0b\x0c\x1c\x85\u2028\u2029:"), max_size=20
)


@given(TEXT)
def test_no_value_puts_a_line_break_into_a_header(value: str) -> None:
    try:
        content = EVERY_LINE.render({"x": value})
    except RenderError as error:
        if error.code not in {"header_injection", "too_large"}:
            raise
        return
    lines = [content.sender, content.reply_to, content.subject, *(value for _, value in content.headers)]
    assert not any(CONTROLS.search(line or "") for line in lines)
    assert all(len((line or "").splitlines()) <= 1 for line in lines)


@pytest.mark.parametrize("control", ["\r\n", "\n", "\r", "\0", "\t", "\x0b", "\x0c", "\x1c", "\x7f", "\x85", "\u2028"])
@pytest.mark.parametrize("field", ["from", "replyTo", "subject", "headers.X-Tag"])
def test_a_control_character_is_refused_with_field_and_variable_but_not_its_value(field: str, control: str) -> None:
    template: dict[str, object] = {"subject": "s", "text": "t"}
    template |= {"headers": {"X-Tag": "{{ name }}"}} if field == "headers.X-Tag" else {field: "{{ name }}"}
    with pytest.raises(RenderError) as caught:
        compile_message(template, "Email").render({"id": "1", "name": f"Jane{control}Bcc: all@example.com"})
    assert (caught.value.code, caught.value.field) == ("header_injection", field)
    assert "'name'" in caught.value.message
    assert f"U+{ord(control[0]):04X}" in caught.value.message
    assert "Jane" not in str(caught.value)
    assert "Bcc" not in str(caught.value)


def test_a_line_break_that_the_template_itself_makes_is_refused_too() -> None:
    message = compile_message({"subject": r"{{ 'a\nb' }}", "text": "t"}, "Email")
    with pytest.raises(RenderError, match="the template would put") as caught:
        message.render({})
    assert caught.value.code == "header_injection"


def test_a_line_break_in_a_body_is_welcome() -> None:
    assert compile_message({"text": "{{ x }}"}, "SMS").render({"x": "a\r\nb"}).text == "a\r\nb"


def test_a_header_longer_than_a_line_may_be_is_refused() -> None:
    message = compile_message({"subject": "{{ x }}", "text": "t"}, "Email")
    assert len(message.render({"x": "a" * 998}).subject or "") == 998
    with pytest.raises(RenderError) as caught:
        message.render({"x": "a" * 999})
    assert caught.value.code == "too_large"


@pytest.mark.parametrize("name", ["", "X Tag", "X:Tag", "X-Tag\r\nBcc", "X-Täg", "X-Tag ", "a" * 77, "(X)"])
def test_a_header_name_that_is_no_token_is_refused(name: str) -> None:
    with pytest.raises(TemplateError, match="letters, digits") as caught:
        compile_message({"text": "t", "headers": {name: "x"}}, "SMS")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "To", "bcc", "CC", "Message-ID", "Date", "MIME-Version", "Content-Type", "content-transfer-encoding",
        "Resent-To", "Received", "Return-Path", "Sender", "DKIM-Signature", "ARC-Seal", "Authentication-Results",
    ],
)  # fmt: skip
def test_a_header_that_is_set_at_sending_is_refused(name: str) -> None:
    with pytest.raises(TemplateError, match="remove it") as caught:
        compile_message({"text": "t", "headers": {name: "x"}}, "SMS")
    assert caught.value.field == f"headers.{name}"


@pytest.mark.parametrize(("name", "field"), [("From", "from"), ("reply-to", "replyTo"), ("SUBJECT", "subject")])
def test_a_header_that_has_a_field_of_its_own_is_sent_there(name: str, field: str) -> None:
    with pytest.raises(TemplateError, match=f"field '{field}'"):
        compile_message({"text": "t", "headers": {name: "x"}}, "SMS")


def test_a_header_given_twice_in_different_case_is_refused() -> None:
    with pytest.raises(TemplateError, match="twice"):
        compile_message({"text": "t", "headers": {"X-Tag": "a", "x-tag": "b"}}, "SMS")


def test_more_headers_than_anybody_needs_are_refused() -> None:
    with pytest.raises(TemplateError, match="at most 50"):
        compile_message({"text": "t", "headers": {f"X-{n}": "a" for n in range(51)}}, "SMS")


@given(TEXT)
def test_a_parser_finds_the_headers_of_the_template_and_no_other(value: str) -> None:
    message = compile_message({"subject": "Hi {{ x }}", "text": "t", "headers": {"X-Tag": "a{{ x }}"}}, "Email")
    try:
        content = message.render({"x": value})
    except RenderError:
        return
    raw = f"Subject: {content.subject}\r\nX-Tag: {content.headers[0][1]}\r\n\r\nbody".encode()
    parsed = email.message_from_bytes(raw, policy=email.policy.SMTP)
    assert parsed.keys() == ["Subject", "X-Tag"]
    assert parsed.get_payload() == "body"
