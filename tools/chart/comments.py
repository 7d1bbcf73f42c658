"""values.yaml with its comments: the text in, one entry per value out. Pure.

A comment whose first line begins with `# --` describes the value below it. What has a description is a leaf, though its
default may be a map or a list.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

MARK = "# -- "


@dataclass(frozen=True)
class Value:
    """One value. `path`: names from the top."""

    path: tuple[str, ...]
    default: Any
    description: str

    @property
    def name(self) -> str:
        """The path with dots, as `--set` takes it."""
        return ".".join(self.path)


class UndescribedError(Exception):
    """A value has no comment."""


def values(text: str) -> list[Value]:
    """Return every value in the order of the file. Raises UndescribedError."""
    root = yaml.compose(text, yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)  # noqa: S101 - values.yaml is a map
    return list(_below(root, (), text.splitlines()))


def _below(node: yaml.MappingNode, path: tuple[str, ...], lines: list[str]) -> Iterator[Value]:
    for key, value in node.value:
        here = (*path, key.value)
        description = _comment(lines, key.start_mark.line)
        if description:
            yield Value(here, yaml.safe_load(yaml.serialize(value)), description)
        elif isinstance(value, yaml.MappingNode) and value.value:
            yield from _below(value, here, lines)
        else:
            raise UndescribedError(f"values.yaml:{key.start_mark.line + 1}: {'.'.join(here)} has no `{MARK}…` above it")


def _comment(lines: list[str], line: int) -> str:
    above = lines[line - 1].strip() if line else ""
    return above.removeprefix(MARK) if above.startswith(MARK) else ""
