"""What of a page's text could run: an HTML document in, the elements and attributes that should not be there out."""

from __future__ import annotations

from html.parser import HTMLParser

_NEVER = {"img", "object", "embed", "base", "meta-refresh", "frame", "applet"}
_ADDRESSES = {"href", "src", "action", "formaction"}


class _Looker(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _NEVER or (tag == "script" and not (given.get("src") or "").startswith("/static/")):
            self.found.append(tag)
        if tag == "iframe" and given.get("sandbox") != "":
            self.found.append("iframe that is not sandboxed")
        self.found += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        self.found += [
            f"{tag} {name}" for name in _ADDRESSES if (given.get(name) or "").strip().startswith("javascript:")
        ]


def intruders(page: str) -> list[str]:
    """Elements that run or load something, or carry a style, and are none of ours; a page has none."""
    looker = _Looker()
    looker.feed(page)
    return looker.found
