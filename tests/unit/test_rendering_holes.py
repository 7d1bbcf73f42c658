"""Jinja taken out of markup and put back: nothing is lost, and nothing comes out with another meaning."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sendonce_rendering import TemplateError, compile_message
from sendonce_rendering.holes import holed
from sendonce_rendering.markup_scan import Place, Scanner

SOURCE = "<p>{{ a }}</p>\n{% if b %}<i title='{{ c }}'>\n{% endif %}"


def test_words_and_comments_stand_for_jinja() -> None:
    taken = holed("html", SOURCE)
    assert taken.markup == "<p><!--sox0x--></p>\n<!--sox1x--><i title='sox2x'>\n<!--sox3x-->"
    assert [(hole.source, hole.line) for hole in taken.holes] == [
        ("{{ a }}", 1),
        ("{% if b %}", 2),
        ("{{ c }}", 2),
        ("{% endif %}", 3),
    ]


@pytest.mark.parametrize(
    ("made", "line", "blamed"),
    [
        ("<!--sox0x--><!--sox1x--><!--sox3x-->", 2, "{{ c }}"),
        ("<!--sox0x-->sox2x<!--sox1x-->", 3, "{% endif %}"),
        ("<!--sox0x-->sox2x<!--sox3x--><!--sox1x-->", 2, "{% if b %}"),
        ("<!--sox0x-->sox2x<!--sox1x--><!--sox3x--><!--sox1x--><!--sox3x-->", 3, "{% endif %}"),
    ],
)
def test_what_is_lost_doubled_or_out_of_order_is_refused(made: str, line: int, blamed: str) -> None:
    with pytest.raises(TemplateError) as raised:
        holed("html", SOURCE).filled(made, "this work")
    assert (raised.value.field, raised.value.line) == ("html", line)
    assert raised.value.message.startswith(f"{blamed} does not stand where this work can keep it")


def test_an_expression_may_be_written_twice() -> None:
    assert holed("html", "<a href='{{ u }}'>").filled("<a href='sox0x' title='sox0x'>", "w") == (
        "<a href='{{ u }}' title='{{ u }}'>"
    )


def test_what_the_work_wrote_does_not_become_jinja() -> None:
    assert holed("html", "{{ a }}").filled("@media{#b{}}{{x}}sox0x", "w") == "@media{ #b{}}{ {x}}{{ a }}"


DATA = st.sampled_from(
    ["<p>", "</p>", "<i title='", "'>", '"', "<!-- ", " -->", "<style>", "</style>", "<", "x ", "sox0x"]
)
JINJA = st.sampled_from(
    ["{{ a }}", "{# c #}", "{% raw %}{{{% endraw %}", "{{ '<b>' }}", "{%- set d = 1 -%}", "{{ a|safe }}"]
)


@given(pieces=st.lists(DATA | JINJA, max_size=20))
@example(pieces=["{%- set d = 1 -%}", "{# c #}", " -->"])
@example(pieces=["<!-- ", "{# c #}", "{%- set d = 1 -%}"])
def test_put_back_at_once_it_is_the_same_template(pieces: list[str]) -> None:
    source = "x" + "".join(pieces)
    taken = holed("html", source)

    def shown(html: str) -> str | None:
        return compile_message({"subject": "s", "html": html, "text": "t"}, "Email").render({"a": "<A>"}).html

    assert shown(taken.filled(taken.markup, "nothing")) == shown(source)


@pytest.mark.parametrize(
    ("markup", "place", "attribute"),
    [
        ("a < b", Place.TEXT, ""),
        ("<p class", Place.TAG, ""),
        ('<p a="1" CLASS = "', Place.VALUE, "class"),
        ("<p class='a>b'>", Place.TEXT, "class"),
        ("<!-- <p ", Place.COMMENT, ""),
        ("<title>a <b", Place.RAW, ""),
        ("<title>a</title>", Place.TEXT, ""),
        ("<mj-style>p{}", Place.RAW, ""),
        ("<mj-title/>", Place.TEXT, ""),
        ("</p", Place.TAG, ""),
        ("<", Place.TAG, ""),
    ],
)
def test_the_place_in_markup_is_known(markup: str, place: Place, attribute: str) -> None:
    scanner = Scanner()
    scanner.feed(markup)
    assert (scanner.place, scanner.attribute) == (place, attribute)
