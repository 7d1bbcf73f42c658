"""Jinja taken out of a piece of markup, and put back: what stands between can then be worked on as markup.

Flows in: HTML or MJML with `{{ … }}` and `{% … %}` in it. Flows out: the same with a word or a comment in the place of
each (`Holed.markup`), which parsers carry along; and, from what they made of that, a template again (`Holed.filled`).
A comment stays where it is between the rows of a table, where a parser moves text out; inside a tag's quotes and in
`<title>` or `<style>` there are no comments, and a word stands there. Whatever could come out with another meaning is
refused: an expression that is lost, a statement that is lost, doubled or out of order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from jinja2 import Environment

from sendonce_rendering.errors import TemplateError
from sendonce_rendering.markup_scan import Place, Scanner

__all__ = ["Hole", "Holed", "Kind", "holed"]

_ENVIRONMENT = Environment(keep_trailing_newline=True, autoescape=True)
_ENDS = {"variable_begin": "variable_end", "block_begin": "block_end", "comment_begin": "comment_end"}
_ENDS["raw_begin"] = "raw_end"
_MARKER = re.compile(r"\{(?=[{%#])")


class Kind(Enum):
    """What a piece of Jinja does: it writes a value, or it decides what is written."""

    EXPRESSION = "expression"
    STATEMENT = "statement"


@dataclass(frozen=True, slots=True)
class Hole:
    """One piece of Jinja as it is written, with the line at which it begins."""

    source: str
    kind: Kind
    line: int


@dataclass(frozen=True, slots=True)
class Holed:
    """Markup whose Jinja is in `holes`; number n stands there as the word `<prefix>nx`."""

    field: str
    markup: str
    holes: tuple[Hole, ...]
    prefix: str

    def pattern(self) -> re.Pattern[str]:
        """Match a hole; its number is the group that took part."""
        return re.compile(rf"<!--{self.prefix}(\d+)x-->|{self.prefix}(\d+)x")

    def filled(self, markup: str, work: str) -> str:
        """Return the template in what `work` ("inlining CSS") made of `markup`. TemplateError for what was lost."""
        found = [int(one[1] or one[2]) for one in self.pattern().finditer(markup)]
        self._require_all(found, work)
        # what the work itself wrote must not become Jinja: "{#" may begin a rule of CSS
        markup = _MARKER.sub("{ ", markup)
        return self.pattern().sub(lambda one: self.holes[int(one[1] or one[2])].source, markup)

    def _require_all(self, found: list[int], work: str) -> None:
        statements = [no for no in found if self.holes[no].kind is Kind.STATEMENT]
        kept = set(found)
        expected = [no for no, hole in enumerate(self.holes) if hole.kind is Kind.STATEMENT]
        odd = next((no for no in range(len(self.holes)) if no not in kept), None)
        if odd is None and statements != expected:
            odd = next((a for a, b in zip(expected, statements, strict=False) if a != b), expected[-1])
        if odd is not None:
            hole = self.holes[odd]
            message = f"{_short(hole.source)} does not stand where {work} can keep it; put it around whole elements"
            raise TemplateError(self.field, message, hole.line)


def holed(field: str, source: str, *, bare: bool = False, strict: Collection[str] | None = None) -> Holed:
    """Take the Jinja out of markup.

    `bare`: an expression in text becomes a word there as well. `strict`: attributes, by name, in which there must be
    no Jinja, because it could not mean the same afterwards; then none may stand in a tag outside quotes either.
    None: anything goes. TemplateError with the line.
    """
    prefix = _unused(source)
    scanner, holes, pieces = Scanner(), list[Hole](), list[str]()
    for piece in _pieces(source):
        if isinstance(piece, str):
            scanner.feed(piece)
            pieces.append(piece)
            continue
        if strict is not None:
            _require_safe_place(field, piece, scanner, strict)
        word = f"{prefix}{len(holes)}x"
        as_word = scanner.place is not Place.TEXT or (bare and piece.kind is Kind.EXPRESSION)
        pieces.append(word if as_word else f"<!--{word}-->")
        holes.append(piece)
    return Holed(field, "".join(pieces), tuple(holes), prefix)


def _require_safe_place(field: str, hole: Hole, scanner: Scanner, strict: Collection[str]) -> None:
    if scanner.place is Place.TAG:
        message = f"{_short(hole.source)} stands in a tag, outside quotes; put it inside quotes, or around the element"
        raise TemplateError(field, message, hole.line)
    if scanner.place is Place.VALUE and scanner.attribute in strict:
        message = f"{_short(hole.source)} stands in {scanner.attribute}, by which rules are chosen; put it into style"
        raise TemplateError(field, message, hole.line)


def _unused(source: str) -> str:
    prefix, lower = "sox", source.lower()
    while prefix in lower:
        prefix += "q"
    return prefix


def _pieces(source: str) -> Iterator[str | Hole]:
    """Yield data and holes. The source is known to be sound."""
    hole: Hole | None = None
    remark = ""
    for line, kind, text in _tokens(source):
        if kind == "comment_begin":
            # beside a hole it parts that from white space, which `{%-` or `-%}` would take; elsewhere it is dropped
            remark += text
            continue
        if hole is not None:
            yield replace(hole, source=hole.source + remark)
            remark = ""
        hole = None
        if kind in _ENDS:
            hole = Hole(remark + text, Kind.STATEMENT if kind == "block_begin" else Kind.EXPRESSION, line)
        else:
            yield text
        remark = ""
    if hole is not None:
        yield replace(hole, source=hole.source + remark)


def _tokens(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, kind and text of data and of each whole piece of Jinja."""
    tokens = iter(_ENVIRONMENT.lex(source))
    for line, kind, value in tokens:
        text, end = [value], _ENDS.get(kind)
        while end is not None:
            _, inner, more = next(tokens)
            text.append(more)
            end = None if inner == end else end
        yield line, kind, "".join(text)


def _short(source: str, most: int = 60) -> str:
    line = " ".join(source.split())
    return line if len(line) <= most else f"{line[:most]}…"
