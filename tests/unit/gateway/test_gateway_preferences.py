"""What a preference page asks for: topics, those shown and those with a tick in, opt-outs and opt-ins out."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from sendonce_gateway.preferences import Change, changes, shown
from sendonce_store.gateway import Topic

NONE: Collection[str] = ()


def topics(*names: str, out: Collection[str] = ()) -> list[Topic]:
    return shown([Topic(name, opted_out=name in out) for name in (*names, *out)], "news")


def test_the_whole_category_comes_first_and_the_links_own_topic_is_there() -> None:
    assert [topic.name for topic in shown([Topic("b", opted_out=True)], "a")] == ["", "a", "b"]
    assert shown([Topic("b", opted_out=True)], "a")[2].opted_out
    assert [topic.name for topic in shown([], "")] == [""]


@pytest.mark.parametrize(
    ("out", "known", "wanted", "made"),
    [
        (NONE, ["news", "offers"], ["news", "offers"], []),
        (NONE, ["news", "offers"], ["news"], [Change("offers", out=True)]),
        (NONE, ["news", "offers"], [], [Change("news", out=True), Change("offers", out=True)]),
        (["offers"], ["news", "offers"], ["news", "offers"], [Change("offers", out=False)]),
        (["offers"], ["news", "offers"], ["news"], []),
        # a topic that was not on the page is left alone, and one that nobody knows is not taken up
        (NONE, ["news"], ["news"], []),
        (NONE, ["news", "x"], ["news", "x"], []),
        # out of everything: the page shows no tick, and without one it stays so
        ([""], ["news", "offers"], [], []),
        ([""], ["news", "offers"], ["news"], [Change("", out=False), Change("offers", out=True)]),
        (["", "news"], ["news", "offers"], ["news"], [
            Change("", out=False), Change("news", out=False), Change("offers", out=True),
        ]),
    ],
)  # fmt: skip
def test_a_form_changes_what_it_says_and_no_more(
    out: Collection[str], known: Collection[str], wanted: Collection[str], made: list[Change]
) -> None:
    assert changes(topics("news", "offers", out=out), known, wanted, nothing=False) == made


def test_stop_all_is_one_opt_out_of_the_whole_category() -> None:
    assert changes(topics("news", "offers"), ["news"], ["news"], nothing=True) == [Change("", out=True)]
    assert changes(topics("news", out=[""]), ["news"], ["news"], nothing=True) == []


def test_without_topics_the_category_itself_is_chosen() -> None:
    alone, opted_out = [Topic("", opted_out=False)], [Topic("", opted_out=True)]
    assert changes(alone, [""], [], nothing=False) == [Change("", out=True)]
    assert changes(alone, [""], [""], nothing=False) == []
    assert changes(opted_out, [""], [""], nothing=False) == [Change("", out=False)]
    assert changes(opted_out, [""], [], nothing=False) == []
