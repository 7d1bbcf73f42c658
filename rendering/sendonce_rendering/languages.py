"""Languages: which text a recipient gets, and in whose manner dates and numbers are written in it.

Flows in: language tags as lists of recipients have them (`pt-BR`, `pt_br`). Flows out: the variant that fits best
(RFC 4647 §3.4, lookup: pt-BR, then pt, then the template itself), and a locale of CLDR. Pure; what has been looked up
is remembered, for a list has few languages.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.localedata import locale_identifiers

__all__ = ["is_known", "locale_for", "lookup", "normal", "suggestion"]

DEFAULT = "en"
_TAG = re.compile(r"[A-Za-z0-9]{1,8}(?:[-_][A-Za-z0-9]{1,8})*")
_LONGEST_TAG = 35
_REMEMBERED = 4096


@lru_cache(_REMEMBERED)
def normal(tag: str) -> str | None:
    """Return the tag in lower case with hyphens; None for what is none (`pt_BR.UTF-8` loses its encoding)."""
    bare = tag.strip().partition(".")[0].partition("@")[0]
    return bare.replace("_", "-").lower() if len(bare) <= _LONGEST_TAG and _TAG.fullmatch(bare) else None


@lru_cache(_REMEMBERED)
def lookup(tag: str) -> tuple[str, ...]:
    """Return the normal forms to look for, the closest first: pt-BR → pt-br, pt."""
    return tuple(_shorter(normal(tag)))


def _shorter(tag: str | None) -> Iterator[str]:
    while tag:
        yield tag
        tag = tag.rpartition("-")[0]
        if re.search(r"(?:^|-)[a-z0-9]$", tag):
            # a single letter only introduces what was cut off
            tag = tag.rpartition("-")[0]


@lru_cache(_REMEMBERED)
def _cldr(tag: str) -> Locale | None:
    """Return the closest locale that CLDR has: en-XX → en."""
    for one in lookup(tag):
        try:
            return Locale.parse(one, sep="-")
        except (ValueError, UnknownLocaleError):
            continue
    return None


def is_known(tag: str) -> bool:
    """Say whether CLDR has the tag's language."""
    return _cldr(tag) is not None


@lru_cache(_REMEMBERED)
def locale_for(reader: str | None, text: str | None) -> Locale:
    """Return how dates and numbers are written for a reader (`de-AT`) in a text of this language (`de`).

    The reader's own manner, as long as it is one of the text's language: a German date has no place in an English
    text. A text that does not say its language is taken to be in the reader's.
    """
    own, said = (_cldr(tag) if tag else None for tag in (reader, text))
    if own is not None and (said is None or own.language == said.language):
        return own
    return said or own or Locale.parse(DEFAULT)


def suggestion(tag: str) -> str:
    """Return the end of an error about an unknown language: a near one, or an example."""
    known = [one.replace("_", "-") for one in locale_identifiers()]
    near = difflib.get_close_matches(tag, known, n=1)
    return f"did you mean {near[0]}?" if near else "use a language tag such as pt-BR"
