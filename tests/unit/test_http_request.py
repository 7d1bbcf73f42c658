"""From a message to the body and head of a request: every value is encoded for its place."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sendonce_rendering.content import Content
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import PermanentSendError, ProviderConfigError
from sendonce_worker.providers.http1.target import parse_target
from sendonce_worker.providers.http_api.body import BodyFormat, compile_body
from sendonce_worker.providers.http_api.head import Head, Path
from sendonce_worker.providers.http_api.leaves import names_of

SECRETS = {"token": "s3cret", "some-name": "other"}
MESSAGE = Message(
    "key-1", "Email", "ann@example.org", Content(subject="Hi", text="Good morning"), datetime.now(UTC), "7-3",
    {"name": "Ann", "age": 7, "tags": ["a", "b"], "nothing": None},
)  # fmt: skip
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def body(template: str | None, body_format: BodyFormat = "JSON", **changes: Any) -> str:
    return compile_body(body_format, template, SECRETS)(replace(MESSAGE, **changes)).decode()


def path(url: str, **changes: Any) -> str:
    return Path(url, SECRETS).render(names_of(replace(MESSAGE, **changes), SECRETS))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('{"to": "{{ to }}"}', {"to": "ann@example.org"}),
        ('{"to": {{ to | tojson }}, "x": [true, null, {}]}', {"to": "ann@example.org", "x": [True, None, {}]}),
        ('{"all": "{{ variables | tojson }}"}', {"all": dict(MESSAGE.variables)}),
        ('{"html": "{{ html }}", "none": "{{ html | tojson }}"}', {"html": "", "none": None}),
        ('{"text": "Dear {{ name | upper }}, {{ text }}"}', {"text": "Dear ANN, Good morning"}),
        ('{"text": "{% if age > 6 %}big{% else %}small{% endif %}"}', {"text": "big"}),
        ('{"age": "{{ age }}", "real": "{{ age | tojson }}"}', {"age": "7", "real": 7}),
        ('{"auth": "{{ secret.token }} {{ secret[\'some-name\'] }}"}', {"auth": "s3cret other"}),
        ('{"missing": "{{ missing | default(\'x\') }}"}', {"missing": "x"}),
        ('["{{ key }}", "{{ channel }}", "{{ delivery_id }}"]', ["key-1", "Email", "7-3"]),
        ('{"a\\"b": "say \\"{{ name }}\\""}', {'a"b': 'say "Ann"'}),
    ],
)  # fmt: skip
def test_a_json_template_renders_to_json(template: str, expected: object) -> None:
    assert json.loads(body(template)) == expected


@given(any_text)
def test_no_variable_breaks_out_of_a_json_string(value: str) -> None:
    rendered = body('{"a": "{{ name }}", "b": {{ name | tojson }}, "c": "x{{ name }}y"}', variables={"name": value})
    assert json.loads(rendered) == {"a": value, "b": value, "c": f"x{value}y"}


@given(any_text, any_text)
def test_no_variable_breaks_out_of_a_form_field(one: str, two: str) -> None:
    rendered = body("from=+15005550006&to={{ one }}&text=a{{ two }}", "Form", variables={"one": one, "two": two})
    assert parse_qsl(rendered, keep_blank_values=True) == [("from", "+15005550006"), ("to", one), ("text", "a" + two)]


@given(any_text.filter(lambda text: text not in {"", ".", ".."}))
def test_no_variable_breaks_out_of_its_segment_of_the_path(value: str) -> None:
    rendered = path("https://api.example.com/to/{{ name }}/send?x={{ name }}", variables={"name": value})
    assert rendered.isascii()
    _, to, segment, rest = rendered.split("/")
    query = rest.removeprefix("send?x=")
    assert (to, unquote(segment), unquote(query)) == ("to", value, value)


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_a_variable_cannot_climb_out_of_the_path(value: str) -> None:
    with pytest.raises(PermanentSendError, match=r"cannot stand in the provider's http\.url"):
        path("https://api.example.com/to/{{ name }}", variables={"name": value})


def test_without_a_template_a_body_has_what_the_message_has() -> None:
    expected = {"to": "ann@example.org", "subject": "Hi", "text": "Good morning", "key": "key-1"}
    assert json.loads(body(None)) == expected
    assert dict(parse_qsl(body(None, "Form"))) == expected
    assert body(None, "Text") == "Good morning"


def test_a_form_template_may_hold_separators_inside_its_expressions() -> None:
    assert body("a={{ name | replace('n', '&=') }}&b=1=2", "Form") == "a=A%26%3D%26%3D&b=1%3D2"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ('{"a": "{{ nobody }}"}', "'nobody' is undefined"),
        ('{"a": "x {{ nobody }}"}', "'nobody' is undefined"),
        ('{"a": "{{ name.__class__.__mro__ }}"}', "unsafe"),
        ('{"a": "{{ age // 0 }}"}', "by zero"),
        ('{"a": "{{ text' + " | replace('o', 'ooooooooo')" * 9 + ' }}"}', "more than 4194304 characters"),
    ],
)
def test_a_template_that_fails_on_a_message_refuses_that_message(template: str, words: str) -> None:
    with pytest.raises(PermanentSendError, match=words) as caught:
        body(template)
    assert caught.value.code == "provider_template"


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
        "{% set a = text ~ text %}",
        "{{ text * 1000000000 }}",
        "{{ 9 ** 999999999 }}",
        "{{ '%999999999d' % 1 }}",
        "{{ tags.append(1) }}",
        "{{ range(10) | list }}",
        "{% macro a() %}{{ a() }}{% endmacro %}",
        "{% include 'x' %}",
        "{{ '&' " + "| tojson | b64encode " * 99 + "}}",
    ],
)
def test_a_template_that_could_run_away_is_refused_when_the_provider_is_built(template: str) -> None:
    with pytest.raises(ProviderConfigError, match=r"http\.bodyTemplate"):
        compile_body("Text", template, SECRETS)


@pytest.mark.parametrize("body_format", ["JSON", "Form", "Text"])
@pytest.mark.parametrize("templated", [True, False])
def test_half_a_character_is_refused(body_format: BodyFormat, templated: bool) -> None:
    templates = {"JSON": '{"a": "{{ text }}"}', "Form": "a={{ text }}", "Text": "{{ text }}"}
    with pytest.raises(PermanentSendError) as caught:
        body(templates[body_format] if templated else None, body_format, content=Content(text="\ud83d"))
    assert caught.value.code == "not_encodable"


def test_a_body_without_bounds_is_refused() -> None:
    with pytest.raises(PermanentSendError) as caught:
        body("{{ text }}", "Text", content=Content(text="x" * 5_000_000))
    assert caught.value.code == "body_too_large"


def test_a_head_that_depends_on_nothing_but_the_secret_is_built_once() -> None:
    where = Path("https://api.example.com/bot{{ secret.token }}/send", SECRETS)
    head = Head("POST", where, {"X-A": "{{ secret.token }}"}, SECRETS, absolute=False)
    assert head.constant == b"POST /bots3cret/send HTTP/1.1\r\nHost: api.example.com\r\nX-A: s3cret\r\n"


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "authority"),
    [
        ("https://api.example.com", "api.example.com", 443, "/", "api.example.com"),
        ("http://127.0.0.1:8080/a?b=c", "127.0.0.1", 8080, "/a?b=c", "127.0.0.1:8080"),
        ("http://[::1]:8080/a", "::1", 8080, "/a", "[::1]:8080"),
        ("https://bücher.example/äb%20c", "xn--bcher-kva.example", 443, "/%C3%A4b%20c", "xn--bcher-kva.example"),
        ("https://api.example.com/a#part", "api.example.com", 443, "/a", "api.example.com"),
    ],
)  # fmt: skip
def test_urls_as_people_write_them(url: str, host: str, port: int, path: str, authority: str) -> None:
    target = parse_target(url)
    assert (target.host, target.port, target.path, target.authority) == (host, port, path, authority)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com/a",
        "ftp://a/",
        "https://",
        "https://ann@api.example.com/",
        "https://a b/",
        "https://a/\r\nX: y",
        "https://a:99999/",
        "https://[::1/",
    ],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_target(url)
    with pytest.raises(ProviderConfigError):
        Path(url, SECRETS)
