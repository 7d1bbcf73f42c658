"""MJML and rules of CSS, worked into the template once: with Jinja in it, and with what must not work."""

from __future__ import annotations

from typing import Any

import pytest

from sendonce_rendering import Content, TemplateError, compile_message

STYLE = "<style>.x{color:red} @media (max-width:600px){.x{width:100%}}</style>"
MJML = """\
<mjml><mj-head><mj-title>{{ title }}</mj-title><mj-preview>For {{ name }}</mj-preview></mj-head><mj-body>
{% for item in items %}<mj-section><mj-column>
  <mj-text>{{ item }}{% if loop.first %} <b>new</b>{% endif %}</mj-text>
  <mj-button href="https://example.com/{{ item }}?a=1&amp;b=2">{{ name }}</mj-button>
</mj-column></mj-section>{% endfor %}
</mj-body></mjml>
"""


def mail(**template: Any) -> Content:
    variables = {"name": "Tom & Jerry", "title": "News", "items": ["a", "b"], "color": "blue", "pad": 3}
    return compile_message({"subject": "s", **template}, "Email").render(variables)


def html(source: str) -> str:
    return mail(html=source, inlineCSS=True).html or ""


def test_mjml_becomes_html_with_its_loops_and_variables() -> None:
    made = mail(mjml=MJML).html or ""
    assert "<title>News</title>" in made
    assert made.count('href="https://example.com/a?a=1&amp;b=2"') == 1
    assert made.count("Tom &amp; Jerry</a>") == 2
    assert made.count("<b>new</b>") == 1
    assert "mj-text" not in made


def test_the_text_of_mjml_is_made_of_its_html() -> None:
    assert mail(mjml=MJML).text == (
        "\na new\nTom & Jerry (https://example.com/a?a=1&b=2)\nb\nTom & Jerry (https://example.com/b?a=1&b=2)\n"
    )


def test_rules_are_written_into_the_elements_and_media_queries_stay() -> None:
    made = html(f'{STYLE}<p class="x" style="padding:{{{{ pad }}}}px">{{{{ name }}}}</p>')
    assert '<p class="x" style="color: red;padding: 3px">Tom &amp; Jerry</p>' in made
    assert "@media (max-width:600px)" in made


def test_rows_of_a_table_stay_in_their_loop() -> None:
    made = html(
        STYLE + '<table><tbody>{% for i in items %}<tr><td class="x">{{ i }}</td></tr>{% endfor %}</tbody></table>'
    )
    rows = '<tr><td class="x" style="color: red;">a</td></tr><tr><td class="x" style="color: red;">b</td></tr>'
    assert f"<table><tbody>{rows}</tbody></table>" in made


def test_a_variable_may_stand_in_a_rule() -> None:
    made = html('<style>p{color:{{ color }}}</style><p title="{% if pad > 2 %}wide{% endif %}">x</p>')
    assert 'style="color: blue;"' in made
    assert 'title="wide"' in made


def test_without_the_wish_html_is_left_as_it_is() -> None:
    source = f'{STYLE}<p class="{{{{ color }}}}">x'
    assert mail(html=source).html == source.replace("{{ color }}", "blue")


def test_words_that_look_like_what_stands_for_jinja_are_kept() -> None:
    made = html("<style>p{color:red}</style><p>sox0x {{ pad }} SOXq1x</p>")
    assert '<p style="color: red;">sox0x 3 SOXq1x</p>' in made


def test_css_that_looks_like_jinja_once_it_is_written_anew_is_no_jinja() -> None:
    made = html('<style>p{content:"{ #x"} @media print{ #a{color:red}}</style><p>x</p>')
    assert "#a{color:red}" in made


@pytest.mark.parametrize(
    ("template", "field", "line", "words"),
    [
        ({"html": "<p>\n<p class='{{ color }}'>", "inlineCSS": True}, "html", 2, "stands in class, by which rules are"),
        (
            {"html": "<p {% if a %}a{% endif %}>", "inlineCSS": True},
            "html",
            1,
            "in a tag, outside quotes",
        ),
        (
            {"html": '<style>p{a:b}</style>\n<p style="{% if a %}c:d;{% endif %}">', "inlineCSS": True},
            "html",
            None,
            "or of a style with variables in it cannot be read",
        ),
        (
            {"html": "<table>\n<col {{ a }}></table>", "inlineCSS": True},
            "html",
            2,
            "{{ a }} stands in a tag",
        ),
        ({"html": "<p>{{ name", "inlineCSS": True}, "html", 1, "unexpected end of template"),
        ({"mjml": "<mjml><mj-body>\n<mj-sectoin/></mj-body></mjml>"}, "mjml", 2, "did you mean <mj-section>?"),
        (
            {"mjml": '<mjml><mj-body><mj-include path="/etc/hostname"/></mj-body></mjml>'},
            "mjml",
            1,
            "put all of the",
        ),
        ({"mjml": "<mjml><mj-body><mj-section></mj-body></mjml>"}, "mjml", None, "this is not sound MJML"),
        ({"mjml": "hello"}, "mjml", None, "this is not sound MJML"),
        ({"mjml": "<mjml><mj-body>\n{% if a %}</mj-body></mjml>"}, "mjml", 2, "Unexpected end of template"),
        ({"mjml": "<mjml/>", "html": "<p>"}, "mjml", None, "keep one of html and mjml"),
    ],
)
def test_what_cannot_be_worked_in_is_told_with_its_line(
    template: dict[str, Any], field: str, line: int | None, words: str
) -> None:
    with pytest.raises(TemplateError) as raised:
        mail(**template)
    assert (raised.value.field, raised.value.line) == (field, line)
    assert words in raised.value.message


def test_a_source_that_ends_the_library_is_an_error_of_the_template() -> None:
    deep = "<b>" * 100_000
    with pytest.raises(TemplateError, match="takes too much time or memory, or is nested too deeply"):
        mail(
            mjml=f"<mjml><mj-body><mj-section><mj-column><mj-text>{deep}</mj-text></mj-column></mj-section></mj-body></mjml>"
        )


def test_nothing_is_fetched(tmp_path: Any) -> None:
    sheet = tmp_path / "a.css"
    sheet.write_text("p{color:red}", "utf-8")
    links = [f'<link rel="stylesheet" href="{address}">' for address in (sheet, sheet.as_uri())]
    assert "color" not in html(f"{''.join(links)}<p>x")
