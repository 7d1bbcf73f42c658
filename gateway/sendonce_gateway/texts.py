"""The words of an installation: a file of JSON in, languages out; what is wrong in it is named as `language.text`.

    {"de": {"unsubscribeTitle": "Abmelden?", …, "topics": {"weekly-news": "Neues der Woche"}}}

A language has all texts, so that no page is in two languages; of English, which is there already, those that are to be
other ones. docs/gateway.md has the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path

import orjson

from sendonce_gateway.languages import Languages
from sendonce_gateway.wording import ENGLISH, Words
from sendonce_store.environment import SettingsError

__all__ = ["NAMES", "read_texts"]

LARGEST_FILE = 1024 * 1024
LONGEST_TEXT = 500
TOPICS = "topics"
_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FILLED = re.compile(r"\{[^{}]*\}")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


NAMES: Mapping[str, str] = {_camel(one.name): one.name for one in fields(Words) if one.name not in {"language", TOPICS}}
"""How a text is called in the file → its field."""


def read_texts(path: str) -> Languages:
    """Read the file. Raises SettingsError, which names the text."""
    try:
        content = Path(path).read_bytes()
        given = orjson.loads(content)
    except OSError as error:
        raise _wrong(path, f"can't be read: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise _wrong(path, f"is no JSON: {error.msg}, line {error.lineno}, column {error.colno}") from None
    if len(content) > LARGEST_FILE:
        raise _wrong(path, f"has more than {LARGEST_FILE} bytes")
    try:
        return _languages(given)
    except ValueError as error:
        raise _wrong(path, str(error)) from None


def _wrong(path: str, what: str) -> SettingsError:
    return SettingsError(f"SENDONCE_GATEWAY_TEXTS: {path}: {what}")


def _languages(given: object) -> Languages:
    known = {"en": ENGLISH}
    for tag, texts in _object("the file", given).items():
        if not _TAG.fullmatch(tag):
            message = f"{tag!r} is not the tag of a language: write de or pt-BR, say"
            raise ValueError(message)
        known[tag.lower()] = _words(tag, _object(tag, texts))
    return Languages(known, known["en"])


def _words(tag: str, texts: Mapping[str, object]) -> Words:
    topics = {name: _text(f"{tag}.{TOPICS}.{name}", text) for name, text in _topics(tag, texts)}
    found = {name: text for name, text in texts.items() if name != TOPICS}
    missing = [name for name in NAMES if name not in found]
    if missing and tag.lower() != "en":
        message = (
            f"{tag}.{missing[0]}: is missing: a language has all {len(NAMES)} texts ({len(missing)} are not there)"
        )
        raise ValueError(message)
    checked = {_field(tag, name): _checked(f"{tag}.{name}", name, text) for name, text in found.items()}
    return replace(ENGLISH, language=tag, topics=topics, **checked)


def _topics(tag: str, texts: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    yield from _object(f"{tag}.{TOPICS}", texts.get(TOPICS, {})).items()


def _field(tag: str, name: str) -> str:
    if name not in NAMES:
        near = get_close_matches(name, [*NAMES, TOPICS], 1)
        message = f"{tag}.{name}: there is no such text" + (f": is it {near[0]}?" if near else "")
        raise ValueError(message)
    return NAMES[name]


def _checked(where: str, name: str, text: object) -> str:
    """A text with just what is filled in, in the English one."""
    found = _text(where, text)
    wanted, given = (set(_FILLED.findall(one)) for one in (getattr(ENGLISH, NAMES[name]), found))
    for missing in sorted(wanted - given):
        message = f"{where}: must have {missing}, which is filled in"
        raise ValueError(message)
    for foreign in sorted(given - wanted):
        message = f"{where}: has {foreign}, for which nothing is filled in here"
        raise ValueError(message)
    return found


def _text(where: str, text: object) -> str:
    # spaces that don't break and marks of direction are no printable characters, and good ones
    if not isinstance(text, str) or not text.strip() or _CONTROL.search(text) or len(text) > LONGEST_TEXT:
        message = f"{where}: must be a line of 1 to {LONGEST_TEXT} characters"
        raise ValueError(message)
    return text


def _object(where: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        message = f"{where}: must be an object"
        raise ValueError(message)  # noqa: TRY004 - wrong input, not a wrong type of ours
    return value
