"""The anchors of a page's headings, as the site makes them (and GitHub, but for repeated ones). Pure."""

from __future__ import annotations

import re
import unicodedata

_FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (?P<words>.+?)\s*$", re.MULTILINE)


def slug(words: str) -> str:
    """`What is left: no, yes?` → `what-is-left-no-yes`."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words).replace("`", "")
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def anchors(text: str) -> set[str]:
    """All anchors of a page."""
    found: set[str] = set()
    for heading in _HEADING.finditer(_FENCED.sub("", text)):
        base = name = slug(heading["words"])
        again = 0
        while name in found:
            again += 1
            name = f"{base}_{again}"
        found.add(name)
    return found
