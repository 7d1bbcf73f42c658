"""Where in markup one is: in text, in a tag, in a quoted value, in a comment, or where only text can stand.

Flows in: pieces of HTML or MJML, one after the other. Flows out: the place after the last of them. Pure. It follows
the tokeniser of the HTML standard (§13.2.5) as far as places go.
"""

from __future__ import annotations

import re
from enum import Enum

__all__ = ["Place", "Scanner"]


class Place(Enum):
    """What the next character would belong to."""

    TEXT = "text"
    RAW = "raw text"
    TAG = "tag"
    VALUE = "quoted value"
    COMMENT = "comment"


# where a tag inside is no tag: https://html.spec.whatwg.org/#raw-text-elements, and their like in MJML
_RAW_ELEMENTS = frozenset({"title", "textarea", "style", "script", "mj-title", "mj-preview", "mj-style"})
_NAME = re.compile(r"[A-Za-z][^\s/>]*")
_ATTRIBUTE = re.compile(r"([^\s\"'<>/=]+)\s*=\s*$")


class Scanner:
    """The place in one document that is fed in pieces."""

    def __init__(self) -> None:
        """Begin in text."""
        self.place = Place.TEXT
        self.attribute = ""  # lower case; of the value one is in
        self._quote = ""
        self._element = ""  # the raw element one is in, or whose tag one is in
        self._tag = ""  # what has been seen of the present tag

    def feed(self, piece: str) -> None:
        """Go on to the end of the piece."""
        at = 0
        while at < len(piece):
            at = self._step(piece, at)

    def _step(self, text: str, at: int) -> int:
        if self.place is Place.TEXT:
            return self._from_text(text, at)
        if self.place is Place.TAG:
            return self._from_tag(text, at)
        if self.place is Place.VALUE:
            return self._to(text, at, self._quote, Place.TAG)
        if self.place is Place.COMMENT:
            return self._to(text, at, "-->", Place.TEXT)
        return self._from_raw(text, at)

    def _to(self, text: str, at: int, end: str, then: Place) -> int:
        found = text.find(end, at)
        if found < 0:
            return len(text)
        self.place = then
        return found + len(end)

    def _from_text(self, text: str, at: int) -> int:
        found = text.find("<", at)
        if found < 0:
            return len(text)
        if text.startswith("<!--", found):
            self.place = Place.COMMENT
            return found + 4
        following = text[found + 1 : found + 2]
        if following and not (following.isalpha() or following in "/!?"):
            return found + 1
        name = _NAME.match(text, found + 1)
        self._element = name[0].lower() if name else ""
        self._tag = ""
        self.place = Place.TAG
        return found + 1

    def _from_tag(self, text: str, at: int) -> int:
        for position in range(at, len(text)):
            character = text[position]
            if character == ">":
                raw = self._element in _RAW_ELEMENTS and not self._tag.endswith("/")
                self.place = Place.RAW if raw else Place.TEXT
                return position + 1
            if character in "\"'" and (found := _ATTRIBUTE.search(self._tag)):
                self.place, self._quote, self.attribute = Place.VALUE, character, found[1].lower()
                self._tag = ""
                return position + 1
            self._tag += character
        return len(text)

    def _from_raw(self, text: str, at: int) -> int:
        found = re.compile(rf"</{re.escape(self._element)}(?=[\s/>])", re.IGNORECASE).search(text, at)
        if found is None:
            return len(text)
        self._element = ""
        self._tag = ""
        self.place = Place.TAG
        return found.end()
