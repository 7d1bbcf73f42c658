"""What is done to a page before zensical sees it. Pure.

The pages also link to files of the repository beside docs/ (tests, examples), which a site does not have: such a link
becomes its own words, and the file's path where the words do not name it. Where the address of the repository is known,
it becomes a link there. A page with drawings gets the script that makes them; the theme would fetch it from elsewhere.
"""

from __future__ import annotations

import posixpath
import re
from urllib.parse import urlsplit

# below docs/
SCRIPT = "assets/mermaid.min.js"
_LINK = re.compile(r"\[(?P<words>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)


def staged(page: str, text: str, repository: str = "", missing: frozenset[str] = frozenset()) -> str:
    """The page (its path below docs/) with its outward links rewritten; code blocks stay as they are.

    `repository`: the address below which the repository's files are read, such as `https://example.com/x/blob/main`.
    `missing`: pages below docs/ that this checkout does not have; a link to one becomes its words.
    """
    parts = _FENCED.split(text)
    parts[::2] = [_LINK.sub(lambda found: _link(page, found, repository, missing), part) for part in parts[::2]]
    return "".join(parts) + (_script(page) if "```mermaid" in text else "")


def _script(page: str) -> str:
    return f'\n<script src="{"../" * page.count("/")}{SCRIPT}"></script>\n'


def _link(page: str, found: re.Match[str], repository: str, missing: frozenset[str]) -> str:
    words, target = found["words"], urlsplit(found["target"])
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target.path))
    if target.scheme or not target.path or (path.startswith("docs/") and path not in missing):
        return found[0]
    if path in missing:
        return words
    if repository:
        return f"[{words}]({repository}/{path})"
    return words if posixpath.basename(path) in words or words.startswith("`") else f"{words} (`{path}`)"
