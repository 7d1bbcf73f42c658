"""Style and script, from the package, under names that carry a hash of their content: they may be kept for ever."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from mimetypes import guess_type

from aiohttp import web

_KEPT = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file with its name of now."""

    name: str
    hashed: str
    content: bytes
    kind: str


class StaticFiles:
    """All files of `static/`, read once."""

    def __init__(self) -> None:
        """Read them."""
        found = [_read(entry.name, entry.read_bytes()) for entry in (files("sendonce_console") / "static").iterdir()]
        self._by_name = {one.name: one for one in found}
        self._by_hash = {one.hashed: one for one in found}

    def address(self, name: str) -> str:
        """Where a page finds the file. KeyError for one that is not there."""
        return f"/static/{self._by_name[name].hashed}"

    async def serve(self, request: web.Request) -> web.Response:
        """Answer with the file."""
        found = self._by_hash.get(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound
        headers = {"Cache-Control": _KEPT, "Content-Type": found.kind}
        return web.Response(body=found.content, headers=headers)


def _read(name: str, content: bytes) -> StaticFile:
    stem, dot, suffix = name.partition(".")
    digest = hashlib.sha256(content).hexdigest()[:12]
    kind = guess_type(name)[0] or "application/octet-stream"
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    return StaticFile(name, f"{stem}.{digest}{dot}{suffix}", content, kind)
