"""Which text a recipient gets, and how dates, numbers and amounts are written in it."""

from __future__ import annotations

from typing import Any

import pytest

from sendonce_rendering import RenderError, TemplateError, compile_message

LETTER: dict[str, Any] = {
    "from": "news@example.com",
    "subject": "Hello {{ name }}",
    "text": "It is {{ day|date }}.",
    "locale": "en",
    "variants": [
        {"locale": "pt", "subject": "Olá {{ name }}", "text": "É {{ day|date }}."},
        {"locale": "pt-BR", "text": "Hoje é {{ day|date }}."},
        {"locale": "zh-Hant", "html": "<p>{{ day|date }}</p>"},
    ],
}


def rendered(locale: str | None, template: dict[str, Any] = LETTER) -> tuple[str | None, str | None]:
    known = {} if locale is None else {"locale": locale}
    content = compile_message(template, "Email").render({"name": "Ana", "day": "2026-12-24", **known})
    return content.subject, content.text


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        ("pt-BR", ("Hello Ana", "Hoje é 24 de dez. de 2026.")),
        ("pt_br.UTF-8", ("Hello Ana", "Hoje é 24 de dez. de 2026.")),
        ("pt-PT", ("Olá Ana", "É 24/12/2026.")),
        ("pt-BR-x-school", ("Hello Ana", "Hoje é 24 de dez. de 2026.")),
        ("de-DE", ("Hello Ana", "It is Dec 24, 2026.")),
        ("en-GB", ("Hello Ana", "It is 24 Dec 2026.")),
        ("no such tag!", ("Hello Ana", "It is Dec 24, 2026.")),
        ("x", ("Hello Ana", "It is Dec 24, 2026.")),
        (None, ("Hello Ana", "It is Dec 24, 2026.")),
    ],
)
def test_the_closest_language_is_chosen(locale: str | None, expected: tuple[str, str]) -> None:
    assert rendered(locale) == expected


@pytest.mark.parametrize(
    ("locale", "expected"),
    [("zh-TW", "繁"), ("zh-TW-x-school", "繁"), ("zh_tw.UTF-8", "繁"), ("zh-CN", "简"), ("zh", "简"), ("en", "繁")],
)
def test_the_templates_own_language_is_one_to_choose_from(locale: str, expected: str) -> None:
    template = {"text": "繁", "locale": "zh-TW", "variants": [{"locale": "zh", "text": "简"}]}
    assert compile_message(template, "SMS").render({"locale": locale}).text == expected


def test_a_text_that_does_not_say_its_language_is_taken_to_be_in_the_readers() -> None:
    template = {"subject": "s", "text": "{{ day|date }}"}
    assert [rendered(locale, template)[1] for locale in ("de-AT", "xx", None)] == [
        "24.12.2026",
        "Dec 24, 2026",
        "Dec 24, 2026",
    ]


def test_a_body_is_never_half_in_another_language() -> None:
    content = compile_message(LETTER, "Email").render({"name": "Ana", "day": "2026-12-24", "locale": "zh-Hant-HK"})
    assert (content.html, content.text) == ("<p>2026年12月24日</p>", "2026年12月24日\n")


def test_variables_of_every_language_are_known() -> None:
    template = {"subject": "s", "text": "{{ a }}", "variants": [{"locale": "de", "text": "{{ b }}"}]}
    assert compile_message(template, "Email").variables_used() == {"a", "b"}


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ([{"locale": "qq"}], "variants[qq].locale: there is no locale 'qq'; use a language tag"),
        ([{"locale": "pt_B"}, {"locale": "pt-b"}], "variants[pt-b].locale: this language has a text already"),
        ([{"locale": "de", "subject": "{{ a"}], "variants[de].subject, line 1: "),
        ([{"locale": "de", "html": "<p>\n{{ a|dat }}"}], "variants[de].html, line 2: there is no filter 'dat'; did"),
        ([{"text": "x"}], "variants: each needs a locale, such as pt-BR"),
        ("de", "variants: this must be a list"),
    ],
)
def test_a_mistake_in_a_variant_is_told_with_its_place(variants: Any, message: str) -> None:
    with pytest.raises(TemplateError) as raised:
        compile_message({"subject": "s", "text": "t", "variants": variants}, "Email")
    assert str(raised.value).startswith(message)


# --- filters ---------------------------------------------------------------------------------------------------------
def written(source: str, locale: str, **variables: object) -> str | None:
    return compile_message({"text": source}, "SMS").render({"locale": locale, **variables}).text


@pytest.mark.parametrize(
    ("source", "locale", "expected"),
    [
        ("{{ t|date }}", "de", "25.12.2026"),
        ("{{ t|date('full') }}", "en", "Friday, December 25, 2026"),
        ("{{ t|date('d MMMM y') }}", "fr", "25 décembre 2026"),
        ("{{ t|date(locale='ja') }}", "fr", "2026/12/25"),
        ("{{ t|time }}", "en-GB", "02:30"),
        ("{{ t|time(timezone='America/New_York') }}", "de", "12:30"),
        ("{{ '2026-12-24T18:30'|datetime('short') }}", "de", "24.12.26, 18:30"),
        ("{{ '1234567.5'|number }}", "de", "1.234.567,5"),
        ("{{ 1234567|number(2) }}", "hi", "12,34,567.00"),
        ("{{ 0.256|percent(1) }}", "fr", "25,6 %"),
        ("{{ 1234.5|currency('EUR') }}", "de", "1.234,50 €"),
        ("{{ 1234.5|currency('jpy') }}", "ja", "￥1,234"),
        ("{{ '2'|currency('USD') }}", "en", "$2.00"),
    ],
)
def test_values_are_written_as_the_language_does(source: str, locale: str, expected: str) -> None:
    assert written(source, locale, t="2026-12-24T18:30:00+01:00", timezone="Asia/Tokyo") == expected


def test_spaces_that_do_not_break_are_kept_for_html_alone() -> None:
    template = {"subject": "{{ n|number }}", "html": "<b>{{ n|number }}</b>"}
    content = compile_message(template, "Email").render({"n": 12345, "locale": "fr"})
    assert (content.subject, content.text, content.html) == ("12 345", "12 345\n", "<b>12\u202f345</b>")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ name|date }}", "a value in ISO 8601 is needed here, such as 2026-12-24"),
        ("{{ '18:30'|date }}", "a value in ISO 8601 is needed here, such as 2026-12-24"),
        ("{{ '2026-12-24'|time }}", "a value in ISO 8601 is needed here, such as 2026-12-24T18:30"),
        ("{{ 5|date }}", "a value in ISO 8601 is needed here, not a int"),
        ("{{ missing|date }}", "'missing' is undefined"),
        ("{{ missing|currency('EUR') }}", "'missing' is undefined"),
        ("{{ name|number }}", "a number of at most 18 digits is needed here, such as 1234.50"),
        ("{{ true|number }}", "a number of at most 18 digits is needed here, not a bool"),
        ("{{ 1e300|number }}", "a number of at most 18 digits is needed here, not a float"),
        ("{{ 1|number(99) }}", "the number of decimals is a whole number from 0 to 15"),
        ("{{ 1|currency }}", "currency needs a currency; give its ISO 4217 code"),
        ("{{ 1|currency('EUX') }}", "there is no currency 'EUX'"),
        ("{{ '2026-12-24'|date('meduim') }}", "the form of a date is short, medium, long, full, or a pattern"),
        ("{{ '2026-12-24'|date(locale='dd') }}", "there is no locale 'dd'; use a language tag"),
        ("{{ '2026-12-24'|date(locale='en_UX') }}", ""),
        ("{{ '2026-12-24T10:00Z'|time(timezone='Mars') }}", "there is no time zone 'Mars'; use an IANA name"),
    ],
)
def test_a_value_that_cannot_be_written_is_told_without_repeating_it(source: str, words: str) -> None:
    if not words:
        assert written(source, "en") == "Dec 24, 2026"
        return
    with pytest.raises(RenderError) as raised:
        written(source, "en", name="Jane Roe")
    assert words in str(raised.value)
    assert "Jane" not in str(raised.value)
