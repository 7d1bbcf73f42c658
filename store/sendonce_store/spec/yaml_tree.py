"""One YAML stream, read as kubectl reads it, with the line of every value.

Flows in: text. Flows out: `RawDocument`s, plain JSON data plus the lines. It is built from the parser's events, not by
PyYAML's own constructors, which read 22:00 as 1320, expand aliases without bound and let a second key win.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import yaml

from sendonce_store.spec.yaml_scalars import key_text, resolve, resolve_tagged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from sendonce_store.spec.problems import Path

__all__ = ["MAX_DEPTH", "MAX_VALUES", "RawDocument", "YamlFault", "read_stream"]

MAX_DEPTH = 64
"""Levels of nesting in a document."""
MAX_VALUES = 200_000
"""Values in a document, each alias counted as often as it is used."""

# libyaml's parser is about ten times as fast; a PyYAML built without it has only its own
PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlFault(Exception):  # noqa: N818 - becomes a Problem, which is the error that people see
    """The text cannot be read: `line` from 1, `path` and `message`."""

    def __init__(self, line: int, path: Path, message: str) -> None:
        """Keep line, path and message."""
        super().__init__(line, path, message)
        self.line, self.path, self.message = line, path, message


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document: its data, its first line, the line of each path, and the keys that were given twice."""

    line: int
    data: JsonValue = field(repr=False)
    lines: dict[Path, int]
    duplicates: tuple[tuple[Path, int], ...]

    def line_at(self, path: Path) -> int:
        """Return the line of the value at `path`, or of the nearest thing around it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return self.line


def read_stream(text: str, first_line: int = 1, parser: Any = PARSER) -> Iterator[RawDocument]:  # noqa: ANN401 - a PyYAML loader class
    """Yield the documents of a YAML stream; `first_line` is the line number of its first line.

    `parser` is a PyYAML loader class. Raises YamlFault.
    """
    events = yaml.parse(text, Loader=parser)
    try:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield _Reader(events, first_line).document(event)
    except yaml.MarkedYAMLError as error:
        raise _syntax_fault(error, text, first_line) from None


def _syntax_fault(error: yaml.MarkedYAMLError, text: str, first_line: int) -> YamlFault:
    mark = error.problem_mark or error.context_mark
    lines = text.splitlines() or [""]
    # what is missing at the end is missing in the last line
    row = min(mark.line if mark else 0, len(lines) - 1)
    words = [word for word in (error.context, error.problem) if word]
    message = "is not valid YAML: " + ", ".join(words)
    content = lines[row]
    if "\t" in content[: len(content) - len(content.lstrip())]:
        message += "; indent with spaces, not tabs"
    elif "mapping values are not allowed" in message:
        message += "; put a value that contains ': ' in quotes"
    elif "{{" in content or "{%" in content:
        message += "; put a value that begins with {{ or {% in quotes"
    return YamlFault(row + first_line, (), message)


@dataclass(slots=True)
class _Reader:
    """Turns the events of one document into data."""

    events: Iterator[Any]
    first_line: int
    lines: dict[Path, int] = field(default_factory=dict)
    duplicates: list[tuple[Path, int]] = field(default_factory=list)
    anchors: dict[str, tuple[JsonValue, int]] = field(default_factory=dict)
    values: int = 0

    def document(self, start: Any) -> RawDocument:  # noqa: ANN401 - PyYAML's events are not typed
        first = next(self.events)
        # a document without content has no line of its own: its start is the best there is
        line = self._line(first) if not isinstance(first, yaml.ScalarEvent) or first.value else self._line(start)
        data = self._value(first, ())
        next(self.events)
        return RawDocument(line, data, self.lines, tuple(self.duplicates))

    def _line(self, event: Any) -> int:  # noqa: ANN401
        return cast("int", event.start_mark.line) + self.first_line

    def _value(self, event: Any, path: Path) -> JsonValue:  # noqa: ANN401
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        before = self.values
        self._count(event, path, 1)
        if isinstance(event, yaml.ScalarEvent):
            data: JsonValue = self._scalar(event, path)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._check_tag(event, path, "seq")
            data = self._sequence(path)
        else:
            self._check_tag(event, path, "map")
            data = self._mapping(path)
        if event.anchor is not None:
            self.anchors[event.anchor] = (data, self.values - before)
        return data

    def _count(self, event: Any, path: Path, values: int) -> None:  # noqa: ANN401
        self.values += values
        if self.values > MAX_VALUES:
            message = f"the document has more than {MAX_VALUES:,} values, aliases counted as often as they are used"
            raise YamlFault(self._line(event), path, message)
        if len(path) > MAX_DEPTH:
            message = f"the document is nested more than {MAX_DEPTH} levels deep"
            raise YamlFault(self._line(event), path[:3], message)

    def _alias(self, event: Any, path: Path) -> JsonValue:  # noqa: ANN401
        if event.anchor not in self.anchors:
            message = f"the alias *{event.anchor} has no finished anchor before it"
            raise YamlFault(self._line(event), path, message)
        data, values = self.anchors[event.anchor]
        self._count(event, path, values)
        return data

    def _check_tag(self, event: Any, path: Path, name: str) -> None:  # noqa: ANN401
        if event.tag not in {None, "!", f"tag:yaml.org,2002:{name}"}:
            message = f"the tag {event.tag.replace('tag:yaml.org,2002:', '!!')} is not supported; remove it"
            raise YamlFault(self._line(event), path, message)

    def _scalar(self, event: Any, path: Path) -> str | int | float | bool | None:  # noqa: ANN401
        plain, _ = event.implicit
        try:
            event.value.encode()
            if event.tag is not None:
                return resolve_tagged(event.tag, event.value)
            return resolve(event.value) if plain else cast("str", event.value)
        except UnicodeEncodeError:
            raise YamlFault(
                self._line(event), path, "has half of a surrogate pair; write the character itself"
            ) from None
        except ValueError as error:
            raise YamlFault(self._line(event), path, str(error)) from None

    def _sequence(self, path: Path) -> list[JsonValue]:
        items: list[JsonValue] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            place = (*path, len(items))
            self.lines[place] = self._line(event)
            items.append(self._value(event, place))
        return items

    def _mapping(self, path: Path) -> dict[str, JsonValue]:
        own: dict[str, JsonValue] = {}
        merged: dict[str, JsonValue] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
                self._merge(merged, event, path)
            else:
                self._entry(own, event, path)
        # keys written out come before merged ones, wherever the `<<` stands
        return merged | own

    def _entry(self, own: dict[str, JsonValue], event: Any, path: Path) -> None:  # noqa: ANN401
        key = self._key(event, path)
        place, line = (*path, key), self._line(event)
        if key in own:
            self.duplicates.append((place, line))
        self.lines.setdefault(place, line)
        value = self._value(next(self.events), place)
        own.setdefault(key, value)

    def _key(self, event: Any, path: Path) -> str:  # noqa: ANN401
        if isinstance(event, yaml.AliasEvent):
            key: JsonValue = self._alias(event, path)
        elif isinstance(event, yaml.ScalarEvent):
            key = self._value(event, path)
        else:
            key = []
        if isinstance(key, (list, dict)):
            message = "a key must be plain text; put a value that begins with {{, { or [ in quotes"
            raise YamlFault(self._line(event), path, message)
        try:
            return key_text(key)
        except ValueError as error:
            raise YamlFault(self._line(event), path, str(error)) from None

    def _merge(self, merged: dict[str, JsonValue], event: Any, path: Path) -> None:  # noqa: ANN401
        line = self._line(event)
        value = self._value(next(self.events), path)
        sources = value if isinstance(value, list) else [value]
        for source in sources:
            if not isinstance(source, dict):
                raise YamlFault(line, path, "<< needs a mapping or a list of mappings")
            for key, item in source.items():
                self.lines.setdefault((*path, key), line)
                merged.setdefault(key, item)
