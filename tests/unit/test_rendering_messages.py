"""What a message template may say, and what comes out for one recipient."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from sendonce_rendering import Content, Limits, RenderError, TemplateError, TemplateParts, compile_message

JANE = {
    "id": "7",
    "name": "Jane",
    "phone": "+15005550006",
    "order": {"city": "Osaka", "items": [1, 2, 3]},
    "gone": None,
}


def text_of(source: str, variables: Mapping[str, object] | None = None) -> str | None:
    return compile_message({"text": source}, "SMS").render(JANE if variables is None else variables).text


def html_of(source: str, variables: Mapping[str, object]) -> str | None:
    return compile_message({"subject": "s", "html": source}, "Email").render(variables).html


def test_every_part_of_an_email_is_rendered() -> None:
    template = {
        "from": "News <news@example.com>",
        "replyTo": "{{ agent }}@example.com",
        "subject": "Hello {{ name }}",
        "text": "Dear {{ name }},\n",
        "html": "<p>{{ name }}</p>",
        "headers": {"List-Unsubscribe": "<https://example.com/u/{{ id }}>"},
    }
    content = compile_message(template, "Email").render({"name": "Jane", "id": 7, "agent": "kim"})
    assert content == Content(
        "News <news@example.com>",
        "kim@example.com",
        "Hello Jane",
        "Dear Jane,\n",
        "<p>Jane</p>",
        (("List-Unsubscribe", "<https://example.com/u/7>"),),
    )


def test_an_email_with_html_alone_has_no_text() -> None:
    content = compile_message({"subject": "s", "html": "<p>"}, "Email").render({})
    assert (content.text, content.html) == (None, "<p>")


@pytest.mark.parametrize(
    "template",
    [
        TemplateParts(sender="a@example.com", text="Hi {{ name }}"),
        SimpleNamespace(
            from_="a@example.com", reply_to=None, subject=None, text="Hi {{ name }}", html=None, headers={}
        ),
        {"from": "a@example.com", "text": "Hi {{ name }}", "headers": None},
    ],
)
def test_a_template_is_read_from_a_mapping_or_from_an_object(template: object) -> None:
    assert compile_message(template, "SMS").render(JANE) == Content(sender="a@example.com", text="Hi Jane")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ name|upper }} {{ name.lower() }} {{ name[:2] }} {{ name[0] }}", "JANE jane Ja J"),
        ("{{ order.city }} {{ order['city'] }} {{ order.get('zip', '-') }}", "Osaka Osaka -"),
        ("{{ order.items|join(', ') }}", "1, 2, 3"),
        ("{% for n in order['items'] if n > 1 %}{{ loop.index }}:{{ n }} {% endfor %}", "1:2 2:3 "),
        ("{% for n in [] %}{% else %}none{% endfor %}", "none"),
        ("{% set ns = namespace(t=0) %}{% for n in [1, 2] %}{% set ns.t = ns.t + n %}{% endfor %}{{ ns.t }}", "3"),
        ("{% macro b(x, y='z') %}<{{ x }}{{ y }}>{% endmacro %}{{ b(name) }}{{ b(1, y=2) }}", "<Janez><12>"),
        ("{% macro w() %}[{{ caller() }}]{% endmacro %}{% call w() %}{{ name }}{% endcall %}", "[Jane]"),
        ("{% filter upper %}abc{% endfilter %}{% set x %}cap{% endset %}{{ x }}", "ABCcap"),
        ("{% with a=3, b=4 %}{{ a * b }}{% endwith %} {{ 7 // 2 }} {{ 2 ** 10 }} {{ -3|abs }}", "12 3 1024 3"),
        ("{{ missing|default('friend') }} {{ gone|d('none') }} {{ ''|d('empty', true) }}", "friend none empty"),
        (
            "{{ 'a longer text'|truncate(7, True) }} {{ 'a b'|urlencode }} {{ 'a-b'|replace('-', '+') }}",
            "a lo... a%20b a+b",
        ),
        ("{{ 1234.5|fixed(2, ',') }} {{ 2.567|round(1) }} {{ '7'|int + 1 }} {{ [1, 2]|sum }}", "1,234.50 2.6 8 3"),
        ("{{ [3, 1]|sort|first }} {{ [{'a': 1}]|map(attribute='a')|join }} {{ ['b']|map('upper')|join }}", "1 1 B"),
        ("{{ {'b': 1, 'a': [true, none]}|tojson }}", '{"a": [true, null], "b": 1}'),
        ("{% for k, v in order|items %}{{ k }} {% endfor %}{{ 'x' if gone is none }}", "city items x"),
        ("{% raw %}{{ name }}{% endraw %}{# a comment #}", "{{ name }}"),
        ("no variable, but { braces } and 100 %", "no variable, but { braces } and 100 %"),
    ],
)
def test_the_language_of_templates(source: str, expected: str) -> None:
    assert text_of(source) == expected


def test_a_recipients_own_field_comes_before_a_method_of_that_name() -> None:
    assert text_of("{{ order.items|length }} {{ order.keys()|join(' ') }}") == "3 city items"


def test_html_is_escaped_and_text_is_not() -> None:
    variables = {"name": "<b>&'\""}
    assert html_of("<i>{{ name }}</i>{{ name|safe }}", variables) == "<i>&lt;b&gt;&amp;&#39;&#34;</i><b>&'\""
    assert text_of("{{ name }}", variables) == "<b>&'\""


def test_line_ends_are_the_same_with_and_without_variables() -> None:
    assert text_of("a\r\nb\rc\n") == text_of("{{ 'a' }}\r\nb\rc\n") == "a\nb\nc\n"


def test_a_template_without_variables_is_rendered_once_and_for_all() -> None:
    message = compile_message({"text": "The same for everybody."}, "SMS")
    assert message.render({"name": "Jane"}) is message.render({})


def test_rendering_again_gives_the_same_bytes() -> None:
    source = "{% for k in d %}{{ k }}{{ loop.cycle('a', 'b') }}{% endfor %}{{ d|tojson }}{{ 0.1 + 0.2 }}"
    message = compile_message({"text": source}, "SMS")
    variables = {"d": {"z": 1, "a": 2}}
    assert message.render(variables).digest() == message.render(dict(variables)).digest()


def test_the_variables_of_all_parts_are_named() -> None:
    template = {
        "from": "{{ a }}@example.com",
        "subject": "{{ b }}",
        "text": "{{ c|d('') }}{{ range(3)|sum }}",
        "headers": {"X-D": "{{ d }}"},
    }
    assert compile_message(template, "Email").variables_used() == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("template", "channel", "field"),
    [
        ({"text": "t"}, "Email", "subject"),
        ({"subject": "s"}, "Email", "text"),
        ({"subject": "", "text": "t"}, "Email", "subject"),
        ({"subject": "s"}, "SMS", "text"),
        ({"text": ""}, "Line", "text"),
        ({"text": "t", "html": "<p>"}, "Push", "html"),
        ({"text": 5}, "SMS", "text"),
        ({"text": "t", "headers": []}, "SMS", "headers"),
        ({"text": "t", "headers": {"X-A": 5}}, "SMS", "headers.X-A"),
        ({"text": "x" * 300_000}, "SMS", "text"),
        ({"subject": "a\nb", "text": "t"}, "Email", "subject"),
        ({"subject": "a{{ '\n' }}b", "text": "t"}, "Email", "subject"),
        ({"subject": "x" * 10_000, "text": "t"}, "Email", "subject"),
    ],
)
def test_a_template_that_does_not_fit_its_channel_is_refused_with_the_field(
    template: dict[str, object], channel: str, field: str
) -> None:
    with pytest.raises(TemplateError) as caught:
        compile_message(template, channel)
    assert caught.value.field == field


def test_a_line_break_at_the_end_of_a_headers_template_is_not_meant() -> None:
    assert compile_message({"subject": "Hi\n", "text": "t"}, "Email").render({}).subject == "Hi"


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("a\n{{ name", 2, "end"),
        ("{% if name %}", 1, "endif"),
        ("a\nb\n{{ name|uper }}", 3, "did you mean 'upper'"),
        ("{% if name is strng %}{% endif %}", 1, "did you mean 'string'"),
        ("{{ x|map('uper') }}", 1, "did you mean 'upper'"),
        ("{% do x %}", 1, "unknown tag"),
        ("{% for loop in x %}{% endfor %}", 1, "loop"),
        ("{{ " + "(" * 400 + "1" + ")" * 400 + " }}", None, "nested too deeply"),
        ("{% for a in x %}" * 30 + "{% endfor %}" * 30, None, "nested too deeply"),
        ("{{ a }}" * 21_000, None, "make it shorter"),
    ],
)
def test_a_mistake_in_a_template_is_named_with_its_line(source: str, line: int | None, words: str) -> None:
    with pytest.raises(TemplateError, match=words) as caught:
        compile_message({"text": source}, "SMS")
    assert caught.value.field == "text"
    if line is not None:
        assert caught.value.line == line
        assert str(caught.value).startswith(f"text, line {line}: ")


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("a\n{{ nmae }}", "undefined_variable", "'nmae' is undefined"),
        ("{{ order.zip }}", "undefined_variable", "zip"),
        ("{{ order['zip'] }}", "undefined_variable", "zip"),
        ("{{ order.zip.code }}", "undefined_variable", "zip"),
        ("{{ nmae|upper }}", "undefined_variable", "nmae"),
        ("{{ nmae|join }}", "undefined_variable", "nmae"),
        ("{{ nmae|length }}", "undefined_variable", "nmae"),
        ("{{ nmae|tojson }}", "undefined_variable", "nmae"),
        ("{{ nmae|sum }}", "undefined_variable", "nmae"),
        ("{{ nmae|round }}", "undefined_variable", "nmae"),
        ("{{ nmae|replace('a', 'b') }}", "undefined_variable", "nmae"),
        ("{{ [nmae]|length }}", "undefined_variable", "nmae"),
        ("{{ nmae ~ 'x' }}", "undefined_variable", "nmae"),
        ("{{ nmae + 'x' }}", "undefined_variable", "nmae"),
        ("{{ nmae() }}", "undefined_variable", "nmae"),
        ("{{ nmae[0] }}", "undefined_variable", "nmae"),
        ("{% if nmae %}{% endif %}", "undefined_variable", "nmae"),
        ("{% for x in nmae %}{% endfor %}", "undefined_variable", "nmae"),
        ("{{ gone }}", "null_value", "default"),
        ("{{ 'a' ~ gone }}", "null_value", "default"),
        ("{{ order }}", "unprintable", "tojson"),
        ("{{ order['items'] }}", "unprintable", "join"),
        ("{{ name.upper }}", "unprintable", r"\(\) missing"),
        ("{% for x in 5 %}{% endfor %}", "expression_failed", "list"),
        ("{% for x in gone %}{% endfor %}", "expression_failed", "list"),
        ("{{ 5|join }}", "expression_failed", "list"),
        ("{{ 'a'|sum }}", "expression_failed", "number"),
        ("{{ 1|replace(order, '') }}", "unprintable", "dict"),
        ("{{ gone|upper }}", "null_value", "default"),
        ("{{ order|string }}", "unprintable", "tojson"),
        ("{{ [gone]|join }}", "null_value", "default"),
        ("{{ [order]|join }}", "unprintable", "tojson"),
        ("{{ 1.5|fixed(2, ';') }}", "expression_failed", "separator"),
        ("{{ 1.5|fixed(99) }}", "expression_failed", "decimals"),
        ("{{ 1 / 0 }}", "expression_failed", "division by zero"),
        ("{{ 1 + 'a' }}", "expression_failed", "int"),
    ],
)
def test_what_one_recipient_cannot_be_told_is_an_error_with_its_code(source: str, code: str, words: str) -> None:
    with pytest.raises(RenderError, match=words) as caught:
        text_of(source)
    assert (caught.value.code, caught.value.field) == (code, "text")


def test_an_error_at_render_time_names_its_line() -> None:
    with pytest.raises(RenderError, match=r"text, line 3: 'nmae' is undefined"):
        text_of("a\n\n{{ nmae }}\n")


def test_an_error_does_not_quote_the_value_of_a_variable() -> None:
    with pytest.raises(RenderError) as caught:
        text_of("{{ ['x'].index(secret) }}", {"secret": "hunter2"})
    assert str(caught.value) == "text, line 1: an expression failed with ValueError"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_half_of_a_surrogate_pair_is_refused_before_it_reaches_a_provider() -> None:
    with pytest.raises(RenderError) as caught:
        text_of("{{ name }}", {"name": "\ud83d"})
    assert caught.value.code == "not_text"


def test_a_recipients_variables_are_not_changed() -> None:
    variables: dict[str, object] = {"name": "Jane", "list": [3, 1, 2]}
    text_of("{% set name = 'Kim' %}{{ name }}{{ list|sort|join }}{{ list|reverse|join }}", variables)
    assert variables == {"name": "Jane", "list": [3, 1, 2]}


def test_one_recipients_settings_do_not_leak_into_the_next() -> None:
    message = compile_message(
        {"text": "{% if vip is defined %}{% set hello = 'Sir' %}{% endif %}{{ hello|d('Hi') }}"}, "SMS"
    )
    assert [message.render(v).text for v in ({"vip": 1}, {})] == ["Sir", "Hi"]


def test_limits_are_settings() -> None:
    message = compile_message({"text": "{{ name }}"}, "SMS", Limits(text_length=3 * len("{{ name }}")))
    assert message.render({"name": "x" * 30}).text == "x" * 30
    with pytest.raises(RenderError, match="longer than 30"):
        message.render({"name": "x" * 31})
