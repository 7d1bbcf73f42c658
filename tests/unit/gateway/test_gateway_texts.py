"""Words of an installation: read whole, or refused with the name of the text; and who gets which language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sendonce_gateway.languages import Languages
from sendonce_gateway.pages import page, paragraph
from sendonce_gateway.texts import NAMES, read_texts
from sendonce_gateway.wording import ENGLISH, Words
from sendonce_store.environment import SettingsError
from sendonce_store.link_tokens import Wish

PAGE = Path(__file__).resolve().parents[3] / "docs" / "gateway.md"
WISH = Wish("Email", "Marketing", "weekly-news", "ada@example.com")


def german() -> dict[str, Any]:
    """The example of the docs."""
    blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"))
    (found,) = [one["gateway"]["texts"] for one in map(yaml.safe_load, blocks) if "texts" in one.get("gateway", {})]
    texts: dict[str, Any] = found["de"]
    return texts


def read(folder: Path, texts: Any) -> Languages:
    file = folder / "texts.json"
    file.write_text(json.dumps(texts), "utf-8")
    return read_texts(str(file))


def test_the_example_of_the_docs_is_a_whole_language(tmp_path: Path) -> None:
    given = german()
    assert [name for name in given if name != "topics"] == list(NAMES)
    words = read(tmp_path, {"de": given}).spoken("de")
    assert (words.language, words.unsubscribe_title) == ("de", "Abmelden?")
    assert words.about(WISH) == "„Neues der Woche“"
    assert words.about(Wish("Email", "Marketing", "other", "a@example.com")) == "„other“"
    assert words.about(Wish("Email", "Transactional", "", "a@example.com")) == "Ihre Bestellungen und Ihr Konto"


def test_english_may_have_some_words_of_ones_own(tmp_path: Path) -> None:
    words = read(tmp_path, {"en": {"marketing": "our letters"}}).spoken("fr")
    assert (words.marketing, words.transactional) == ("our letters", ENGLISH.transactional)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"saveButton": None}, "de.saveButton: must be a line of 1 to 500 characters"),
        ({"saveButton": " "}, "de.saveButton: must be a line of 1 to 500 characters"),
        ({"saveButton": "a\nb"}, "de.saveButton: must be a line of 1 to 500 characters"),
        ({"saveButton": "x" * 501}, "de.saveButton: must be a line of 1 to 500 characters"),
        ({"savebutton": "Speichern"}, "de.savebutton: there is no such text: is it saveButton?"),
        ({"unsubscribeText": "Sie erhalten nichts mehr"}, "de.unsubscribeText: must have {about}, which is filled in"),
        ({"unsubscribeTitle": "{name}, abmelden?"}, "de.unsubscribeTitle: has {name}, for which nothing is filled in"),
        ({"topics": {"news": 1}}, "de.topics.news: must be a line"),
        ({"topics": []}, "de.topics: must be an object"),
    ],
)
def test_a_text_that_is_wrong_is_named(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=re.escape(f"texts.json: {words}")):
        read(tmp_path, {"de": {**german(), **change}})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "the file: must be an object"),
        ({"german": {}}, "'german' is not the tag of a language: write de or pt-BR, say"),
        ({"de": "Abmelden"}, "de: must be an object"),
        ({"de": {}}, "de.topic: is missing: a language has all 32 texts (32 are not there)"),
    ],
)
def test_a_file_that_is_wrong_is_told_where(given: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=re.escape(f"texts.json: {words}")):
        read(tmp_path, given)


def test_a_file_that_is_no_json_is_told_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "texts.json").write_text('{"de": }', "utf-8")
    with pytest.raises(SettingsError, match=r"SENDONCE_GATEWAY_TEXTS: .*texts.json: is no JSON: .*line 1, column 8"):
        read_texts(str(tmp_path / "texts.json"))


def test_marks_of_a_script_are_no_control_characters(tmp_path: Path) -> None:
    for text in ("Se désabonner\u00a0?", "می\u200cخواهید؟", "\u200fכן"):
        words = read(tmp_path, {"de": {**german(), "unsubscribeTitle": text}}).spoken("de")
        assert words.unsubscribe_title == text


# --- who gets which --------------------------------------------------------------------------------------------------
KNOWN = Languages({tag: Words(tag) for tag in ("en", "de", "pt-br", "zh-hant")})


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("DE-at, en;q=0.9", "de"),
        ("fr, de;q=0.4, en;q=0.8", "en"),
        ("fr;q=0.9,pt-BR;q=0.7,*;q=0.1", "pt-br"),
        ("pt", "en"),
        ("zh-Hant-x-private-TW", "zh-hant"),
        ("de;q=0, pt-br;q=0.001", "pt-br"),
        ("de;q=2, nonsense;;, \x00", "en"),
        ("fr," * 5000 + "de", "en"),
    ],
)
def test_a_person_gets_what_the_browser_asks_for_or_else_english(accepted: str, language: str) -> None:
    assert KNOWN.spoken(accepted).language == language


# --- on a page -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("language", "tag"),
    [
        ("de-AT", '<html lang="de-AT">'),
        ("ar", '<html lang="ar" dir="rtl">'),
        ("fa-IR", '<html lang="fa-IR" dir="rtl">'),
    ],
)
def test_a_page_says_its_language_and_its_direction(language: str, tag: str) -> None:
    made = page(language, "<T & t>", paragraph("<b>x</b>"))
    assert made.headers["Content-Language"] == language
    assert made.text is not None
    assert tag in made.text
    assert "<h1>&lt;T &amp; t&gt;</h1><p>&lt;b&gt;x&lt;/b&gt;</p>" in made.text
