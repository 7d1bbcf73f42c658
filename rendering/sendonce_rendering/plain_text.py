"""The text of a mail, made from its HTML where the campaign gives none: once, on the template.

Flows in: the source of an HTML body with its Jinja. Flows out: the source of a text body with the same expressions at
the same places, where they are not escaped. Loops and conditions stay around what they are around. It is written for
reading: links with their address, pictures by their `alt`, lists with stars, and nothing of what is not shown.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

from sendonce_rendering.holes import Holed, Kind, holed

__all__ = ["text_of_html"]

_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
_UNSEEN = frozenset({"head", "noscript", "script", "style", "template", "title"})
# how many line breaks an element has around it
_BREAKS = {
    **dict.fromkeys(("blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "ul"), 2),
    **dict.fromkeys((
        "address", "article", "aside", "body", "center", "dd", "div", "dl", "dt", "figcaption", "figure", "footer",
        "form", "header", "html", "li", "main", "nav", "section", "table", "tbody", "tfoot", "thead", "tr",
    ), 1),
}  # fmt: skip
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|mso-hide\s*:\s*all)", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_MARKER = re.compile(r"\{[{%#]|\{$")
_TRIM = re.compile(r"^(\{[{%])[-+]|[-+]([}%]\})\s*$")
_LOOP = re.compile(r"\{%\s*for\s")
_RULE = "-" * 40


def text_of_html(field: str, source: str) -> str:
    """Return the template of the text. The HTML is known to be a sound template."""
    taken = holed(field, source, bare=True)
    writer = _Writer(taken)
    writer.feed(taken.markup)
    writer.close()
    return writer.text()


class _Open(NamedTuple):
    """An element that is open. `unseen`: nothing in it is shown. `at`: how many pieces there were before it."""

    name: str
    unseen: bool
    href: str | None
    at: int


class _Writer(HTMLParser):
    """Writes text as the parser tells of elements."""

    def __init__(self, taken: Holed) -> None:
        super().__init__(convert_charrefs=True)
        self._taken = taken
        self._hole = taken.pattern()
        self._pieces: list[str] = []
        self._breaks = 0  # line breaks to come before the next word
        self._space = False  # a space to come before the next word of the line
        self._open: list[_Open] = []
        self._unseen = 0
        self._kept = 0  # elements `pre` that are open
        self._begun = False  # whether there is a word already

    def text(self) -> str:
        """Return what was written, with one line break at its end."""
        return "".join(self._pieces) + "\n"

    # --- what the parser tells ---------------------------------------------------------------------------------------
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _VOID:
            self._void(tag, given)
            return
        unseen = tag in _UNSEEN or "hidden" in given or _HIDDEN.search(given.get("style") or "") is not None
        self._break(tag)
        self._open.append(_Open(tag, unseen, _address(given) if tag == "a" else None, len(self._pieces)))
        self._unseen += unseen
        self._kept += tag == "pre"
        if tag == "li":
            self._write("*")
            self._space = True
        elif tag in {"td", "th"}:
            self._space = True

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if all(one.name != tag for one in self._open):
            self._break(tag)
            return
        while self._close(self._open.pop()) != tag:
            pass

    def handle_data(self, data: str) -> None:
        last = 0
        for found in self._hole.finditer(data):
            self._data(data[last : found.start()])
            self._jinja(int(found[1] or found[2]))
            last = found.end()
        self._data(data[last:])

    def handle_comment(self, data: str) -> None:
        if found := self._hole.fullmatch(f"<!--{data}-->"):
            self._jinja(int(found[1]))

    # --- what is written ---------------------------------------------------------------------------------------------
    def _close(self, one: _Open) -> str:
        self._unseen -= one.unseen
        self._kept -= one.name == "pre"
        shown = "".join(self._pieces[one.at :]).strip()
        if one.href is not None and one.href != shown and shown:
            self._space = True
            self._write(f"({one.href})")
        self._break(one.name)
        return one.name

    def _void(self, tag: str, given: dict[str, str | None]) -> None:
        if tag == "br":
            self._breaks = min(self._breaks + 1, 2)
        elif tag == "hr":
            self._breaks = max(self._breaks, 1)
            self._write(_RULE)
            self._breaks = 1
        elif tag == "img" and not self._unseen and (alt := (given.get("alt") or "").strip()):
            self.handle_data(f" {alt} ")

    def _break(self, tag: str) -> None:
        if not self._unseen:
            self._breaks = max(self._breaks, _BREAKS.get(tag, 0))

    def _data(self, data: str) -> None:
        if self._kept:
            self._write(_escaped(data))
            return
        words = _SPACE.sub(" ", data)
        self._space = self._space or words.startswith(" ")
        if stripped := words.strip(" "):
            self._write(_escaped(stripped))
            self._space = words.endswith(" ")

    def _jinja(self, no: int) -> None:
        hole = self._taken.holes[no]
        source = _TRIM.sub(r"\1\2", hole.source)
        if hole.kind is Kind.EXPRESSION:
            self._write(source)
            return
        if _LOOP.search(source):
            self._begin_loop()
        self._pieces.append(source)

    def _begin_loop(self) -> None:
        """Write a blank line before the list, not before each of its entries; these are parted, the first one too."""
        if self._begun and self._breaks > 1:
            self._pieces.append("\n" * (self._breaks - 1))
        self._breaks, self._begun = min(self._breaks, 1), True

    def _write(self, text: str) -> None:
        if self._unseen or not text:
            return
        if self._begun:
            self._pieces.append("\n" * self._breaks or " " * self._space)
        self._breaks, self._space, self._begun = 0, False, True
        # attributes have their words of Jinja still
        self._pieces.append(self._hole.sub(self._source, text))

    def _source(self, found: re.Match[str]) -> str:
        return _TRIM.sub(r"\1\2", self._taken.holes[int(found[1] or found[2])].source)


def _address(given: dict[str, str | None]) -> str | None:
    """Return what a link leads to, if it can be followed from a text."""
    href = (given.get("href") or "").strip()
    return None if not href or href.startswith(("#", "javascript:")) else _escaped(href.removeprefix("mailto:"))


def _escaped(text: str) -> str:
    """Keep what only looks like Jinja, once the character references were read, from being it."""
    return _MARKER.sub(lambda found: f"{{{{ '{found[0]}' }}}}", text) if "{" in text else text
