"""Pages from templates: everything that is not markup of ours is escaped, and a name that is missing is an error.

In every template: `viewer` (None on the way in), `local`, `csrf`, `path`, `namespace`, `rights`, `static(name)`,
`url(pattern, name=value)`; and what the handler gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from sendonce_console.levers.offered import offered
from sendonce_console.look import furnish
from sendonce_console.web.static import StaticFiles
from sendonce_store.masking import mask_foreign

if TYPE_CHECKING:
    from sendonce_console.web.visit import Visit


def address(pattern: str, query: Mapping[str, object] | None = None, /, **parts: object) -> str:
    """The address of a route: `/ns/{namespace}` with its parts escaped and filled in; `query` without empty values."""
    path = pattern.format(**{name: quote(str(value), safe="") for name, value in parts.items()})
    given = {name: value for name, value in (query or {}).items() if value not in (None, "")}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _link(pattern: str, query: Mapping[str, object] | None = None, **parts: object) -> str:
    return address(pattern, query, **parts)


def number(value: float) -> str:
    """A number with its thousands apart."""
    return f"{value:,}"


def moment(value: datetime | None) -> str:
    """A time to the second in UTC; the script shows it in the viewer's zone."""
    return "" if value is None else value.strftime("%Y-%m-%d %H:%M:%S UTC")


def stamp(value: datetime | None) -> str:
    """A time for <time datetime="…">."""
    return "" if value is None else value.isoformat(timespec="seconds")


class Pages:
    """The templates."""

    def __init__(self, static: StaticFiles) -> None:
        """Nothing is compiled before it is used."""
        self._environment = Environment(
            loader=PackageLoader("sendonce_console", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals |= {"static": static.address, "url": _link, "offered": offered}
        self._environment.filters |= {"number": number, "moment": moment, "stamp": stamp, "masked": mask_foreign}
        furnish(self._environment)

    def text(self, template: str, **context: Any) -> str:  # noqa: ANN401 - whatever the template asks for
        """Fill in a template."""
        return self._environment.get_template(template).render(**context)


def page(visit: Visit, template: str, /, status: int = 200, **context: Any) -> web.Response:  # noqa: ANN401
    """Answer with a page."""
    shared = {
        "viewer": visit.viewer,
        "local": visit.console.door.local,
        "csrf": visit.csrf,
        "path": visit.request.path,
        "namespace": visit.namespace,
        "namespaces": visit.namespaces,
        "rights": visit.rights,
    }
    text = visit.console.pages.text(template, **shared | context)
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8")


def redirect(where: str) -> web.Response:
    """Answer a POST: go and look there (303)."""
    return web.Response(status=303, headers={"Location": where})
