"""The console's JSON API, for what is about single people: paths in, plain data out, or an error in its own words.

The token is a person's own. It goes to the address that was asked, never to one that an answer names: redirects are
refused.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from sendonce_kubectl.failing import Exit, PluginError
from sendonce_kubectl.finding import Choice, is_loopback, reach
from sendonce_kubectl.kubectl import Kubectl
from sendonce_kubectl.rights import role_for
from sendonce_kubectl.tokens import surroundings, token_of

__all__ = ["Console", "campaign_path", "open_console", "problem"]

SECONDS = 60.0
MOST_BYTES = 64 * 2**20
_CODES = {
    401: Exit.NO_RIGHT,
    403: Exit.NO_RIGHT,
    404: Exit.NOT_FOUND,
    400: Exit.BAD_INPUT,
    422: Exit.BAD_INPUT,
    409: Exit.REFUSED,
}
# a token is visible ASCII (RFC 6750); anything else would end the header early
_TOKEN = re.compile(r"[\x21-\x7e]+")


def campaign_path(namespace: str, campaign: str, *more: str) -> str:
    """`/api/v1/namespaces/shop/campaigns/spring/recipients`. Raises PluginError for what would lead elsewhere."""
    parts = [namespace, "campaigns", campaign, *more]
    if {"", ".", ".."} & set(parts):
        raise PluginError(f"{' '.join(parts)!r}: a name that is empty or of dots alone is none")
    return "/api/v1/namespaces/" + "/".join(quote(part, safe="") for part in parts)


@dataclass(frozen=True, slots=True)
class Console:
    """The API at one address, for one person."""

    url: str
    token: str
    namespace: str

    def get(self, path: str, query: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON
        """Raises PluginError."""
        return _parsed(self.fetch(path, query), self.url)

    def fetch(self, path: str, query: Mapping[str, object] | None = None, body: bytes | None = None) -> bytes:
        """The answer as it came. Raises PluginError."""
        asked = f"?{urlencode(query, doseq=True)}" if query else ""
        request = urllib.request.Request(f"{self.url}{path}{asked}", body, self._headers(body))  # noqa: S310 - `checked_url`
        try:
            with _opener(self.url).open(request, timeout=SECONDS) as answer:
                content: bytes = answer.read(MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise problem(error.code, error.read(65_536), self.namespace) from None
        except (OSError, ValueError) as error:
            why = getattr(error, "reason", error)
            raise PluginError(f"the console at {self.url} can't be reached: {why}", Exit.UNREACHABLE) from None
        if len(content) > MOST_BYTES:
            raise PluginError(f"the console's answer is larger than {MOST_BYTES >> 20} MiB", Exit.UNREACHABLE)
        return content

    def post(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 - JSON
        """Raises PluginError."""
        return _parsed(self.fetch(path, body=json.dumps(body).encode()), self.url)

    def _headers(self, body: bytes | None) -> dict[str, str]:
        if not _TOKEN.fullmatch(self.token):
            raise PluginError("--token: is no bearer token: it has characters that none can have")
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json",
            "User-Agent": "kubectl-campaign",
        }
        return headers if body is None else {**headers, "Content-Type": "application/json"}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """An answer that leads elsewhere is an error: the token would go with it."""

    def redirect_request(self, *_: object) -> None:
        """None: do not follow."""


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Proxies of the environment, but not to this machine; no redirects; certificates are checked."""
    proxies: dict[str, str] | None = {} if is_loopback(urlsplit(url).hostname or "") else None
    return urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirects())


def _parsed(content: bytes, url: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise PluginError(
            f"what answers at {url} is not Sendonce's console: it sent no JSON", Exit.UNREACHABLE
        ) from None


def problem(status: int, content: bytes, namespace: str) -> PluginError:
    """What an error of the console means (RFC 9457), and the cure where it is known."""
    try:
        told = json.loads(content)
        words = ": ".join(str(told[name]) for name in ("title", "detail") if told.get(name))
    except (ValueError, TypeError, AttributeError):
        words = ""
    words = words or f"HTTP {status}"
    code = _CODES.get(status, Exit.UNREACHABLE)
    if status == 401:  # noqa: PLR2004 - HTTP
        return PluginError(
            f"the console does not know you: {words}. Sign in to the cluster anew, or give --token", code
        )
    if status == 403:  # noqa: PLR2004
        role = role_for("get", "notificationcampaigns/recipients")
        hint = f"people's data takes the right to get notificationcampaigns/recipients: ClusterRole {role}"
        return PluginError(f"{words}. In namespace {namespace}, {hint}, bound by whoever administers it", code)
    if 300 <= status < 400:  # noqa: PLR2004
        return PluginError("the console's address leads elsewhere: give the address itself by --console-url", code)
    return PluginError(f"the console says: {words}", code)


@contextmanager
def open_console(kubectl: Kubectl, choice: Choice, token: str | None) -> Iterator[Console]:
    """The console for the person whom kubectl signs in. Raises PluginError."""
    around = surroundings(kubectl)
    own = token_of(around, token)
    with reach(kubectl, choice) as url:
        yield Console(url, own, kubectl.namespace or around.namespace)
