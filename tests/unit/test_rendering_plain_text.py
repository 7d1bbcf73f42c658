"""The text of a mail that has HTML alone."""

from __future__ import annotations

from typing import Any

import pytest

from sendonce_rendering import TemplateError, compile_message


def text(source: str, **variables: Any) -> str | None:
    return compile_message({"subject": "s", "html": source}, "Email").render(variables).text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<h1>Hi</h1><p>one   two<br>three</p>", "Hi\n\none two\nthree\n"),
        ("<p>a &amp; b &lt;c&gt; &nbsp;d</p>", "a & b <c> \xa0d\n"),
        ("<ul><li>a</li><li>b <b>c</b></li></ul>d", "* a\n* b c\n\nd\n"),
        ('<a href="https://example.com/a">see</a>, <a href="https://example.com">https://example.com</a>',
         "see (https://example.com/a), https://example.com\n"),
        ('<a href="mailto:a@example.com">Mail</a> <a href="#top">up</a>', "Mail (a@example.com) up\n"),
        ('<img src="cid:x" alt="Logo"> <img src="y">z', "Logo z\n"),
        ("a<hr>b", f"a\n{'-' * 40}\nb\n"),
        ("<pre>a\n  b</pre>", "a\n  b\n"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc\n"),
        ("<head><title>t</title><style>p{}</style></head><script>x</script><p>y</p>", "y\n"),
        ('<div style="color:red; display: none">a<p>b</p></div>c<p hidden>d</p>', "c\n"),
        ("a<!-- b -->c", "ac\n"),
        ("<p>a</b></i><p>b</div>c", "a\n\nb\nc\n"),
    ],
)  # fmt: skip
def test_html_is_read_as_a_person_sees_it(source: str, expected: str) -> None:
    assert text(source) == expected


def test_values_are_not_escaped_in_text() -> None:
    assert text('<p>{{ who }}</p><a href="https://example.com/?q={{ q }}">go</a>', who="<A> & B", q="1&2") == (
        "<A> & B\n\ngo (https://example.com/?q=1&2)\n"
    )


def test_loops_and_conditions_stay_around_what_they_are_around() -> None:
    source = """<p>Hi</p>
    <ul>{%- for i in items -%} <li>{{ i }}</li> {%- endfor -%}</ul>
    {% if vip %}<p>VIP</p>{% else %}<p>Guest</p>{% endif %}<p>Bye</p>"""
    assert text(source, items=["a", "b"], vip=True) == "Hi\n\n* a\n* b\n\nVIP\n\nBye\n"
    assert text(source, items=[], vip=False) == "Hi\n\n\nGuest\n\nBye\n"


def test_what_is_set_where_nothing_is_seen_is_set_for_the_text_too() -> None:
    assert text("<head>{% set greeting = 'Hello' %}</head><p>{{ greeting }}</p>") == "Hello\n"


def test_what_only_looks_like_jinja_once_it_is_read_is_text() -> None:
    assert text("<p>&#123;&#123; x }} {{ y }} &#123;{{ y }}</p>", y=1) == "{{ x }} 1 {1\n"


def test_a_text_that_is_given_is_kept() -> None:
    assert compile_message({"subject": "s", "html": "<p>a</p>", "text": "b"}, "Email").render({}).text == "b"


@pytest.mark.parametrize("source", ["<img src='x'>", "<p> </p>", "<style>p{}</style>"])
def test_html_without_words_has_no_text(source: str) -> None:
    assert text(source) is None


def test_html_of_which_no_text_can_be_made_asks_for_one() -> None:
    with pytest.raises(TemplateError, match=r"text: no text can be made of html .*; give the template a text of"):
        text('<p class="{% if a %}">y</p>{% endif %}', a=1)
