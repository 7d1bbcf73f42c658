"""Plain data as YAML that kubectl, and `documents`, read back as it is.

PyYAML alone leaves `y`, `N` or `22:00` unquoted where other readers see something else.
"""

from __future__ import annotations

import yaml
from pydantic import JsonValue

from sendonce_store.spec.yaml_scalars import resolve

__all__ = ["to_yaml"]


class _Dumper(yaml.SafeDumper):
    """Quotes every text that would not be read as text."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        # a block where YAML allows one, which the emitter decides
        style = "|"
    elif _is_read_as_another(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _is_read_as_another(text: str) -> bool:
    try:
        return resolve(text) != text
    except ValueError:
        return True


_Dumper.add_representer(str, _text)


def to_yaml(*documents: JsonValue) -> str:
    """Return the documents as YAML text, keys in their order, `---` between them."""
    return yaml.dump_all(documents, Dumper=_Dumper, allow_unicode=True, sort_keys=False, default_flow_style=False)
