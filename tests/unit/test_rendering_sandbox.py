"""A template reaches data, and nothing behind it; and it stops, whatever it tries."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sendonce_rendering import Limits, RenderError, TemplateError, compile_message

VARIABLES: dict[str, object] = {"name": "Jane", "items": [1, 2, 3], "d": {"city": "Osaka"}, "big": "x" * 300_000}

VISIBLE_ESCAPES = [
    "{{ ''.__class__ }}",
    "{{ ''['__class__'] }}",
    "{{ name|attr('__class__') }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ range.__self__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ self.__init__ }}",
    "{% for i in items %}{{ loop._iterable }}{% endfor %}",
    "{% set ns = namespace() %}{{ ns._Namespace__attrs }}",
    "{{ items|map('attr', '__class__') }}",
    "{{ '%s'|format(name) }}",
    "{{ items|random }}",
    "{{ items|batch(1000000000, 'x') }}",
    "{{ name|center(1000000000) }}",
    "{{ name|wordwrap(1, wrapstring=big) }}",
    "{{ name|indent(1000000000) }}",
    "{{ name|pprint }}",
    "{{ {}|xmlattr }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% from 'x' import y %}",
    "{% extends 'x' %}",
    "{% block a %}{% endblock %}",
    "{% autoescape false %}{{ name }}{% endautoescape %}",
    "{% for x in d recursive %}{{ loop(d) }}{% endfor %}",
]

HIDDEN_ESCAPES = [
    "{{ ''['__cla' ~ 'ss__'] }}",
    "{{ items['__le' ~ 'n__'] }}",
    "{{ d['__cla' ~ 'ss__'] }}",
    "{{ items|map(attribute='__class__')|list|tojson }}",
    "{{ items|map(attribute='real.__class__')|list|tojson }}",
    "{{ [d]|sum(attribute='__class__') }}",
    "{{ [d]|sort(attribute='__class__')|join }}",
    "{{ [d]|selectattr('__class__')|join }}",
    "{% set f = 'at' ~ 'tr' %}{{ items|map(f, '__class__')|list|tojson }}",
    "{% set f = '_' ~ 'spent' %}{{ items|map(f, -1000000)|list|tojson }}",
    "{% set f = '_' ~ 'each' %}{{ items|map(f, -1000000)|list|tojson }}",
    "{{ '{0.__class__}'.format(name) }}",
    "{{ '{0.__class__}'['form' ~ 'at'](name) }}",
    "{{ name.format_map(d) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%s' % name }}",
    "{{ name.encode() }}",
    "{{ name.translate(d) }}",
    "{{ name.upper|string }}",
    "{{ [name.upper]|join }}",
    "{{ {'a': name.upper}|tojson }}",
    "{{ name.upper ~ '' }}",
    "{{ 'x'|replace('x', name.upper) }}",
    "{{ ['a', 'b']|join(name.upper) }}",
    "{{ self }}",
    "{{ self.x }}",
    "{{ namespace }}",
    "{{ range }}",
    "{{ range.start }}",
    "{{ namespace(a=name.upper).a }}",
    "{% for i in items %}{{ loop }}{% endfor %}",
    "{% macro m() %}{% endmacro %}{{ m }}",
    "{% macro m() %}{% endmacro %}{{ m.name }}",
    "{% macro m() %}{% endmacro %}{{ m.arguments|join }}",
    "{{ items.append(4) }}",
    "{{ items.sort() }}",
    "{{ d.update({'a': 1}) }}",
    "{{ d.pop('city') }}",
    "{{ lipsum() }}",
    "{{ joiner() }}",
    "{{ dict(a=1)|tojson }}",
    "{{ 5.0.hex() }}",
    "{{ (5).to_bytes(1000000000, 'big') }}",
    "{{ name() }}",
    "{{ name|safe.__class__ }}",
]

RUNAWAYS = [
    "{{ 'a' * 10 ** 9 }}",
    "{{ 10 ** 9 * 'a' }}",
    "{{ [0] * 10 ** 9 }}",
    "{{ (0,) * 10 ** 9 }}",
    "{{ 10 ** (10 ** 9) }}",
    "{{ 2 ** (2 ** (2 ** (2 ** 2))) }}",
    "{{ (-2) ** (10 ** 9) }}",
    "{{ range(10 ** 9)|list|length }}",
    "{{ range(10 ** 30)|list|length }}",
    "{{ range(-10 ** 30, 10 ** 30)|first }}",
    "{% for i in range(10 ** 9) %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}a{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) if false %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{{ loop.length }}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% set x = i * j %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}" + "y" * 1000 + "{% endfor %}",
    "{% for a in big %}{% for b in big %}{% endfor %}{% endfor %}",
    "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "{% macro a() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}",
    "{% macro a(n) %}{% if n %}{{ a(n - 1) }}{{ a(n - 1) }}{% endif %}{% endmacro %}{{ a(30) }}",
    "{% macro a(n) %}{% if n %}{{ a(n - 1) }}{{ a(n - 1) }}{% endif %}xxxxxxxx{% endmacro %}{{ a(30) }}",
    "{% macro a(n) %}{% call a(n) %}{% endcall %}{% endmacro %}{{ a(1) }}",
    "{% macro w() %}{{ caller() }}{{ caller() }}{% endmacro %}" + "{% call w() %}" * 25 + "x" + "{% endcall %}" * 25,
    "{% macro m() %}{% for i in range(9999) %}{{ big }}{% endfor %}{% endmacro %}{{ m() }}",
    "{% set x %}{% for i in range(9999) %}{{ big }}{% endfor %}{% endset %}",
    "{% filter upper %}{% for i in range(9999) %}{{ big }}{% endfor %}{% endfilter %}",
    "{% for i in range(9999) %}{{ big }}{% endfor %}",
    "{% for i in range(9999) %}{{ 'a fairly short text that is printed again and again and again' }}{% endfor %}",
    "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}{% endfor %}",
    "{% set ns = namespace(x=['a']) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x=['a']) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}",
    "{% set ns = namespace(x=(1,)) %}{% for i in range(99) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}",
    "{% set ns = namespace(x={}) %}{% for i in range(99) %}{% set ns.x = {1: ns.x, 2: ns.x} %}{% endfor %}",
    "{% set ns = namespace(x=2) %}{% for i in range(99) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
    "{% set ns = namespace(x=2) %}{% for i in range(9999) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x=2) %}{% for i in range(9999) %}{% set ns.x = [ns.x, ns.x]|sum %}{% endfor %}",
    "{{ big|replace('x', big) }}",
    "{{ big|replace('', big) }}",
    "{{ big|list|join(big) }}",
    "{{ ('x' * 40000)|list|join(big) }}",
    "{{ [big, big, big]|join }}",
    "{{ big|list|map('replace', '', big)|join }}",
    "{{ range(9999)|map('string')|map('replace', '', big)|list|length }}",
    "{{ [[1], [2]]|sum(start=[]) }}",
    "{{ 1|round(1000000000, 'ceil') }}",
    "{{ 1|round(1000000000) }}",
    "{{ d|tojson(indent=1000000000) }}",
    "{{ big|int(base=16) }}",
    "{{ ('9' * 4000)|int }}",
    "{{ (big ~ big ~ big)|length }}",
    "{{ 'a'.ljust(1000000000) }}",
    "{{ 'a'.zfill(1000000000) }}",
    "{{ 'a'.center(1000000000) }}",
    "{{ 'a\tb'.expandtabs(1000000000) }}",
    "{{ 'a'.join(big) }}",
    "{{ big.replace('x', big) }}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% set x = big[::-1] %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% set x = big|upper %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% set x = big.count('z') %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% if 'z' in big %}{% endif %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% set x = big.split('x') %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% set x = big|wordcount %}{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% set x = d.items() %}{% endfor %}{% endfor %}",
]


# what counting stops is stopped by counting on a slow machine too, and within 2 s of CPU time on any
PATIENT = Limits(cpu_seconds=2)


def render(source: str, part: str) -> object:
    channel = "Email" if part == "html" else "SMS"
    return getattr(compile_message({"subject": "s", part: source}, channel, PATIENT).render(VARIABLES), part)


@pytest.mark.parametrize("part", ["text", "html"])
@pytest.mark.parametrize("source", VISIBLE_ESCAPES)
def test_an_escape_that_can_be_seen_is_refused_before_anything_is_sent(source: str, part: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(source, part)
    assert caught.value.field == part


@pytest.mark.parametrize("part", ["text", "html"])
@pytest.mark.parametrize("source", HIDDEN_ESCAPES)
def test_an_escape_that_only_shows_at_render_time_ends_in_an_error(source: str, part: str) -> None:
    with pytest.raises((RenderError, TemplateError)):
        render(source, part)
    assert VARIABLES["items"] == [1, 2, 3]
    assert VARIABLES["d"] == {"city": "Osaka"}


@pytest.mark.parametrize(
    "source",
    [
        "{{ '{0}'.format(name) }}",
        "{{ items.append(4) }}",
        "{{ '%s' % name }}",
        "{{ name.upper|urlencode }}",
        "{{ [name.upper]|length }}",
    ],
)
def test_a_forbidden_use_of_a_method_is_called_unsafe(source: str) -> None:
    with pytest.raises(RenderError) as caught:
        render(source, "text")
    assert caught.value.code == "unsafe"


@pytest.mark.parametrize("part", ["text", "html"])
@pytest.mark.parametrize("source", RUNAWAYS)
def test_a_template_that_runs_away_is_stopped(source: str, part: str) -> None:
    # The clock is the second net: each of these is caught by counting, and so ends alike on every machine.
    with pytest.raises(RenderError) as caught:
        render(source, part)
    assert caught.value.code != "time_limit"
    assert "MemoryError" not in caught.value.message


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{{ range(10001)|length }}", "too_large"),
        ("{{ range(10000)|length ~ range(5, 10005)|length }}", None),
        ("{% set x %}{% for i in range(9999) %}" + "y" * 3000 + "{% endfor %}{% endset %}", "too_many_steps"),
        (
            "{% macro m() %}" + "y" * 60_000 + "{% endmacro %}{% for i in range(9999) %}{{ m() }}{% endfor %}",
            "too_large",
        ),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "too_deep"),
        ("{% macro m() %}x{% endmacro %}{% for i in range(99) %}{{ m() }}{% endfor %}", None),
    ],
)
def test_each_limit_has_its_code_and_no_call_counts_twice(source: str, code: str | None) -> None:
    if code is None:
        assert isinstance(render(source, "text"), str)
        return
    with pytest.raises(RenderError) as caught:
        render(source, "text")
    assert caught.value.code == code


@pytest.mark.parametrize("source", RUNAWAYS[11:15])
def test_a_template_that_runs_away_stops_at_the_same_step_each_time(source: str) -> None:
    messages = set()
    for _ in range(2):
        with pytest.raises(RenderError) as caught:
            render(source, "text")
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_the_clock_stops_what_the_count_lets_through() -> None:
    source = "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}"
    patient = Limits(steps=10**12, cpu_seconds=0.05)
    with pytest.raises(RenderError) as caught:
        compile_message({"text": source}, "SMS", patient).render({})
    assert caught.value.code == "time_limit"


def test_an_ordinary_long_message_is_far_from_the_limits() -> None:
    source = "{% for i in range(500) %}{{ i }}: {{ name|upper }} {{ d.city }}, {{ 'x' ~ i }}\n{% endfor %}"
    thrifty = Limits(steps=Limits().steps // 10)
    text = compile_message({"text": source}, "SMS", thrifty).render(VARIABLES).text
    assert text is not None
    assert text.count("\n") == 500


FRAGMENTS = st.sampled_from([
    "{{ x }}", "{{ x.y }}", "{{ x[0] }}", "{{ x|upper }}", "{{ x ~ x }}", "{{ x * 3 }}", "{{ [x, x]|join(x) }}", "<p>",
    "{% for a in x %}", "{% endfor %}", "{% if x %}", "{% endif %}", "{% set x = [x, x] %}", "{% set x = x ~ x %}",
    "{{ x() }}", "{{ x.__class__ }}", "{{ x|tojson }}", "{% macro m(x) %}", "{% endmacro %}", "{{ m(x) }}", "{{", "%}",
    "{{ x['__class__'] }}", "{{ loop.index }}", "{{ x|map('upper') }}", "{{ x.items() }}", "{{ x % x }}",
])  # fmt: skip
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS, max_size=8).map("".join), DATA)
def test_any_template_with_any_data_ends_in_text_or_in_an_error_of_ours(source: str, data: object) -> None:
    try:
        text = compile_message({"text": source or "-"}, "SMS").render({"x": data}).text
    except (TemplateError, RenderError) as error:
        if error.field != "text":
            raise
        return
    assert isinstance(text, str)
    assert "<class" not in text
    assert " at 0x" not in text
